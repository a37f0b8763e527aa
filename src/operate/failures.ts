import { z } from 'zod';
import { givenText, parseStrictly } from '../errors/option-problems.ts';
import type { FailureGroup as KeptGroup, FailureStore } from '../store/failure-store.ts';

/** Failures that are alike: of one handler, with one cause, at one place, with messages that differ in names and numbers. */
export interface FailureGroup extends Omit<KeptGroup, 'firstSeenAt' | 'lastSeenAt'> {
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
}

/** What the groups work with. */
export interface FailuresParts {
  readonly store: FailureStore;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

/** Which groups. */
export const failureQuerySchema = z.strictObject({ handler: givenText.optional() });

/** How many groups are listed. Whoever has more has one problem with many messages. */
const maxListed = 200;

/** The failures of runs that are not done since, in groups of those that are alike. */
export class Failures {
  readonly #parts: FailuresParts;

  /** @internal */
  constructor(parts: FailuresParts) {
    this.#parts = parts;
  }

  /**
   * The groups that failed last, at most 200. `events.list`, `events.replay` and `events.dismiss` take the id of one as
   * `failure`.
   *
   * @throws ConfigError for an invalid query; RingbackError `receiver_not_started`
   * @example
   * const [group] = await receiver.failures.list({ handler: 'crm-sync' });
   * if (group) await receiver.events.replay({ state: 'dead', failure: group.id });
   */
  async list(query: { readonly handler?: string } = {}): Promise<readonly FailureGroup[]> {
    this.#parts.requireStarted('failures.list()');
    const { handler } = parseStrictly(failureQuerySchema, query, 'failures.list', 'query');
    const groups = await this.#parts.store.groups({ handler, limit: maxListed });
    return groups.map(({ firstSeenAt, lastSeenAt, ...group }) => ({
      ...group,
      firstSeenAt: new Date(firstSeenAt),
      lastSeenAt: new Date(lastSeenAt),
    }));
  }
}
