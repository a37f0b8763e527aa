// @module-tag long
/** An app that emits declarations, as `nest new` sets it up, can export what Ringback gives it without writing its type. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PackedProject, addPackages, packProject } from './packed-project.ts';
import { TypeChecker } from './type-check.ts';

let project: PackedProject;
beforeAll(async () => {
  project = await packProject();
  addPackages(project, '@types/pg', 'pg');
});
afterAll(() => project.remove());

const declared = { module: 'nodenext', moduleResolution: 'nodenext', declaration: true };

const ofReceiver = `
import { createReceiver, type AuditEntry, type CallEvent, type Delivery, type HistoryQuery } from 'ringback';

export const receiver = createReceiver({ secrets: 'whsec_a' });
export const { alerts, audit, calls, drift, events, failures, handlers, history, quarantine } = receiver;
export const { database, fetch, take } = receiver;
export const middleware = receiver.middleware();
export const nodeHandler = receiver.nodeHandler();
export const page = receiver.page({ authorize: () => 'all' });
export const looks = () => ({
  counts: receiver.counts(),
  raised: alerts.list(),
  changes: audit.list(),
  running: audit.running(),
  call: calls.get('call-1'),
  joins: calls.joins('call-1'),
  allCalls: calls.list(),
  differences: drift.list(),
  event: events.get('trace-1'),
  signature: events.checkSignature('trace-1'),
  allEvents: events.list(),
  groups: failures.list(),
  states: handlers.list(),
  points: history.list(),
  ofHandler: history.ofHandler('crm-sync'),
  delivery: quarantine.get(1),
  check: quarantine.checkSignature(1),
  deliveries: quarantine.list(),
});
export const changes = () => ({
  erased: receiver.erase({ callId: 'call-1' }),
  replayed: events.replay({ state: 'dead' }),
  paused: handlers.pause('crm-sync'),
  released: quarantine.release(1),
  reverified: quarantine.reverify(),
});
export const progressOf = ({ progress }: AuditEntry) => progress;
export const timeOf = ({ occurredAtSource }: CallEvent) => occurredAtSource;
export const bodyOf = ({ body }: Delivery) => body;
export const resolutionOf = ({ resolution }: HistoryQuery) => resolution;
`;

const ofPostgres = `
import { postgres } from 'ringback/postgres';

export const inbox = postgres({ connectionString: 'postgres://localhost/app' });
`;

const ofSandbox = `
import { createSandbox, type PlayedCall, type SandboxOptions } from 'ringback/sandbox';

export const sandbox = createSandbox();
export const { calls, attempts, deliveries } = sandbox;
export const played = () => calls.play();
export const partsOf = ({ analysis, events, transfer }: PlayedCall) => ({ analysis, events, transfer });
export const embeddingsOf = ({ embeddings }: SandboxOptions) => embeddings;
`;

const ofPlatform = `
import { createPlatform } from 'ringback/platform';

export const platform = createPlatform({ baseUrl: 'https://platform.example', apiKey: 'key' });
export const { analyses, calls, customTools, documents, knowledgeBases, prompts, subscriptions, websites } = platform;
export const answers = () => ({
  analysis: analyses.get('agent-1', 'call-1'),
  call: calls.get('call-1'),
  tool: customTools.get('agent-1', 'tool-1'),
  document: documents.get('kb-1', 'document-1'),
  knowledgeBase: knowledgeBases.get('kb-1'),
  found: knowledgeBases.search('kb-1', 'prices'),
  prompt: prompts.generate({ raw_prompt: 'You sell bicycles.' }),
  subscription: subscriptions.get('subscription-1'),
  rotated: subscriptions.rotateSecret('subscription-1'),
  links: websites.sitemaps('https://www.example.com'),
});
`;

it.each([
  ['a receiver', ofReceiver],
  ['an inbox in Postgres', ofPostgres],
  ['a sandbox', ofSandbox],
  ['the client of the platform', ofPlatform],
])('the compiler can name every type of %s', (_name, app) => {
  expect(new TypeChecker().errors(project, { 'app.mts': app }, declared)).toEqual([]);
});
