import type { Statement } from 'better-sqlite3';
import { z } from 'zod';
import { ringbackError } from '../../errors/errors.ts';
import { parseStrictly } from '../../errors/option-problems.ts';
import { defined } from '../../kit/values.ts';
import type { BatchedWrites, Database } from '../database.ts';
import type { Attempt } from '../model.ts';

const tables = `
  create table if not exists attempts (
    id integer primary key,
    subscription_id text not null,
    trace_id text not null,
    call_id text not null,
    attempt text not null
  ) strict;
  create index if not exists attempts_of_calls on attempts (call_id);
  create index if not exists attempts_of_events on attempts (trace_id);
`;

/** Selects the attempts that match every given field. */
export interface AttemptQuery {
  readonly callId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly subscriptionId?: string | undefined;
}

/** @internal */
export const attemptQuerySchema = z.strictObject({
  callId: z.string('the id of a call').optional(),
  traceId: z.string('the trace id of an event').optional(),
  subscriptionId: z.string('the id of a subscription').optional(),
});

/** Called with every attempt once it has ended. */
export type AttemptListener = (attempt: Attempt) => void;

/** Every attempt, with its answer or failure. Attempts are kept as long as the database. */
export class Attempts {
  readonly #writes: BatchedWrites;
  readonly #insert: Statement<
    [id: number, subscriptionId: string, traceId: string, callId: string, attempt: string]
  >;
  readonly #database: Database;
  readonly #listeners = new Set<AttemptListener>();
  #lastId: number;

  /** @internal */
  constructor(database: Database, writes: BatchedWrites) {
    database.create(tables);
    this.#database = database;
    this.#writes = writes;
    this.#insert = database.connection.prepare('insert into attempts values (?, ?, ?, ?, ?)');
    this.#lastId = Number(database.connection.prepare('select max(id) from attempts').pluck().get() ?? 0);
  }

  /**
   * Lists attempts in the order in which they ended.
   *
   * @throws RingbackError `sandbox_not_running` after `stop`; ConfigError `option_invalid` or `option_unknown`
   * @example sandbox.attempts.list({ callId: 'call_42' }).map(({ number, status }) => [number, status]);
   */
  list(query: AttemptQuery = {}): readonly Attempt[] {
    const { callId, traceId, subscriptionId } = parseStrictly(attemptQuerySchema, query, 'attempts.list');
    if (!this.#database.connection.open)
      throw ringbackError('sandbox_not_running', { method: 'attempts.list()' });
    this.#writes.flush();
    const given = defined({ call_id: callId, trace_id: traceId, subscription_id: subscriptionId });
    const conditions = Object.keys(given).map((column) => ` and ${column} = cast(@${column} as text)`);
    return this.#database.connection
      .prepare<[typeof given], string>(
        `select attempt from attempts where true${conditions.join('')} order by id`,
      )
      .pluck()
      .all(given)
      .map(attemptOf);
  }

  /**
   * Calls `listener` with every attempt that ends from now on. Returns a function that stops this.
   *
   * @example const end = sandbox.attempts.watch(({ eventName, status }) => console.log(eventName, status));
   */
  watch(listener: AttemptListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Records an attempt that has ended. @internal */
  record(ended: Omit<Attempt, 'id'>): Attempt {
    this.#lastId += 1;
    const attempt = { id: this.#lastId, ...ended };
    const { id, subscriptionId, traceId, callId } = attempt;
    this.#writes.add(() => this.#insert.run(id, subscriptionId, traceId, callId, JSON.stringify(attempt)));
    // In its own microtask, so that a throwing listener doesn't disturb the delivery.
    for (const listener of this.#listeners) queueMicrotask(() => listener(attempt));
    return attempt;
  }
}

/** The fields that JSON omits if they are undefined. */
const unset = { status: undefined, answer: undefined, failure: undefined, disturbance: undefined };

function attemptOf(json: string): Attempt {
  return { ...unset, ...(JSON.parse(json) as Attempt) };
}
