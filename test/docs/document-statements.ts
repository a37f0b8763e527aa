/**
 * What the platform's document states, statement by statement: numbered in the order of its sections, in our own words.
 * docs/coverage.md has a row for each. A number stays with its statement: a new one is added at the end of its section.
 * The field names of the document are kept; "left open" is what it says that it doesn't show.
 */
import { deliveryStatements, eventStatements, transferStatements } from './statements/events.ts';
import { ingestionStatements, knowledgeBaseStatements } from './statements/knowledge-bases.ts';
import { promptStatements, toolStatements, websiteStatements } from './statements/operations.ts';
import {
  authenticationStatements,
  errorStatements,
  limitStatements,
  serviceStatements,
  versionStatements,
} from './statements/rules.ts';
import type { Statement } from './statements/statement.ts';
import { stateStatements, subscriptionStatements } from './statements/subscriptions.ts';

export const statements: readonly Statement[] = [
  ...serviceStatements,
  ...knowledgeBaseStatements,
  ...ingestionStatements,
  ...toolStatements,
  ...promptStatements,
  ...websiteStatements,
  ...subscriptionStatements,
  ...stateStatements,
  ...authenticationStatements,
  ...deliveryStatements,
  ...eventStatements,
  ...transferStatements,
  ...errorStatements,
  ...limitStatements,
  ...versionStatements,
];
