import { z } from 'zod';
import { givenText, parseStrictly } from '../errors/option-problems.ts';
import { groupPrefix } from '../kit/activity.ts';
import type { Clock } from '../kit/clock.ts';
import { dateOf } from '../kit/time.ts';
import type { FailureGroup as KeptGroup, FailureStore } from '../store/failure-store.ts';
import { type HistoryStore, wholeReceiver } from '../store/history-store.ts';
import { type Account, type Audit, accountSchema } from './audit.ts';

/**
 * A group of similar failures: same handler, cause and location, with messages that differ only in ids, quoted text and
 * numbers.
 */
export interface FailureGroup extends Omit<KeptGroup, 'firstSeenAt' | 'lastSeenAt' | 'mutedAt'> {
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** Since when alerts ignore it; undefined if it isn't muted. */
  readonly mutedAt: Date | undefined;
  /** How many attempts failed like this in each of the last 24 hours, the current one last. */
  readonly lastDay: readonly number[];
}

interface FailuresParts {
  readonly store: FailureStore;
  readonly history: HistoryStore;
  readonly audit: Audit;
  readonly clock: Clock;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

/** Selects groups. */
export const failureQuerySchema = z.strictObject({ handler: givenText.optional() });
const idSchema = z.strictObject({ id: givenText });

/** How many groups are listed. More of them are usually one problem with many messages. */
const maxListed = 200;
const hour = 3_600_000;
const hours = 24;

/** Failures of runs that are not done, in groups of similar ones. */
export class Failures {
  readonly #parts: FailuresParts;

  /** @internal */
  constructor(parts: FailuresParts) {
    this.#parts = parts;
  }

  /**
   * The groups that failed most recently, at most 200. Pass a group's id as `failure` to `events.list`,
   * `events.replay` and `events.dismiss`.
   *
   * @throws ConfigError for an invalid query; RingbackError `receiver_not_started`
   * @example
   * const [group] = await receiver.failures.list({ handler: 'crm-sync' });
   * if (group) await receiver.events.replay({ state: 'dead', failure: group.id });
   */
  async list(query: { readonly handler?: string | undefined } = {}): Promise<readonly FailureGroup[]> {
    this.#parts.requireStarted('failures.list()');
    const { handler } = parseStrictly(failureQuerySchema, query, 'failures.list', 'query');
    const groups = await this.#parts.store.groups({ handler, limit: maxListed });
    const lastDay = await this.#lastDay();
    return groups.map(({ firstSeenAt, lastSeenAt, mutedAt, ...group }) => ({
      ...group,
      firstSeenAt: new Date(firstSeenAt),
      lastSeenAt: new Date(lastSeenAt),
      mutedAt: dateOf(mutedAt),
      lastDay: lastDay(group.id),
    }));
  }

  /**
   * Leaves a group out of alerts until it is unmuted, for example because its cause is known. Resolves to true if it
   * was not muted before, and to false if it was or if there is no such group.
   *
   * @throws ConfigError for an invalid id or option; RingbackError `receiver_not_started`
   * @example await receiver.failures.mute(group.id, { by: 'ann', reason: 'the CRM is replaced in May' });
   */
  async mute(id: string, options: Account = {}): Promise<boolean> {
    const { store, clock } = this.#parts;
    return this.#change('mute', id, options, (group) => store.mute(group, clock.now()));
  }

  /**
   * Includes a muted group in alerts again. Resolves to whether it was muted.
   *
   * @throws ConfigError for an invalid id or option; RingbackError `receiver_not_started`
   * @example await receiver.failures.unmute(group.id);
   */
  async unmute(id: string, options: Account = {}): Promise<boolean> {
    return this.#change('unmute', id, options, (group) => this.#parts.store.unmute(group));
  }

  async #change(
    action: 'mute' | 'unmute',
    id: string,
    options: Account,
    act: (id: string) => Promise<boolean>,
  ): Promise<boolean> {
    this.#parts.requireStarted(`failures.${action}()`);
    const { id: what } = parseStrictly(idSchema, { id }, `failures.${action}`);
    const account = parseStrictly(accountSchema, options, `failures.${action}`);
    return this.#parts.audit.record({ ...account, action, what }, async () => ({ result: await act(what) }));
  }

  async #lastDay(): Promise<(id: string) => readonly number[]> {
    const { history, clock } = this.#parts;
    const present = Math.floor(clock.now() / hour) * hour;
    const first = present - (hours - 1) * hour;
    const rows = await history.list('hour', first, present + hour, wholeReceiver, [groupPrefix]);
    const counts = new Map(rows.map(({ name, at, count }) => [`${name} ${at}`, count]));
    return (id) =>
      Array.from(
        { length: hours },
        (_, index) => counts.get(`${groupPrefix}${id} ${first + index * hour}`) ?? 0,
      );
  }
}
