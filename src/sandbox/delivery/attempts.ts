import type { Statement } from 'better-sqlite3';
import { z } from 'zod';
import { ringbackError } from '../../errors.ts';
import { parseStrictly } from '../../option-problems.ts';
import type { Database } from '../database.ts';
import type { Attempt } from '../model.ts';
import type { GatheredWrites } from './gathered-writes.ts';

const tables = `
  create table if not exists attempts (
    id integer primary key,
    subscription_id text not null,
    trace_id text not null,
    call_id text not null,
    event_name text not null,
    number integer not null,
    started_at real not null,
    latency_ms real not null,
    status integer,
    answer text,
    failure text,
    is_delivered integer not null,
    disturbance text
  ) strict;
  create index if not exists attempts_of_calls on attempts (call_id);
  create index if not exists attempts_of_events on attempts (trace_id);
`;

/** Which attempts to list: those that match every given field. */
export interface AttemptQuery {
  readonly callId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly subscriptionId?: string | undefined;
}

const querySchema = z.strictObject({
  callId: z.string('the id of a call').optional(),
  traceId: z.string('the trace id of an event').optional(),
  subscriptionId: z.string('the id of a subscription').optional(),
});

/** Called with every attempt once it has ended. */
export type AttemptListener = (attempt: Attempt) => void;

type Column = string | number | null;

/** Every attempt that was made, with its answer or failure. Attempts are kept as long as the database. */
export class Attempts {
  readonly #writes: GatheredWrites;
  readonly #insert: Statement<Column[]>;
  /** The prepared statements, by their `where` clause. */
  readonly #selects = new Map<string, Statement<string[], AttemptRow>>();
  readonly #database: Database;
  readonly #listeners = new Set<AttemptListener>();
  #lastId: number;

  /** @internal */
  constructor(database: Database, writes: GatheredWrites) {
    database.create(tables);
    this.#database = database;
    this.#writes = writes;
    this.#insert = database.connection.prepare(`insert into attempts values (${'?, '.repeat(12)}?)`);
    this.#lastId = Number(database.connection.prepare('select max(id) from attempts').pluck().get() ?? 0);
  }

  /**
   * The attempts, in the order in which they ended.
   *
   * @throws RingbackError `sandbox_not_running` after `stop`; ConfigError `option_invalid` or `option_unknown`
   * @example sandbox.attempts.list({ callId: 'call_42' }).map(({ number, status }) => [number, status]);
   */
  list(query: AttemptQuery = {}): readonly Attempt[] {
    const { callId, traceId, subscriptionId } = parseStrictly(querySchema, query, 'attempts.list');
    if (!this.#database.connection.open)
      throw ringbackError('sandbox_not_running', { method: 'attempts.list()' });
    this.#writes.flush();
    const given = Object.entries({ call_id: callId, trace_id: traceId, subscription_id: subscriptionId });
    const filters = given.filter((filter): filter is [string, string] => filter[1] !== undefined);
    const where =
      filters.length === 0
        ? ''
        : `where ${filters.map(([name]) => `${name} = cast(? as text)`).join(' and ')}`;
    const select = this.#selects.get(where) ?? this.#prepareSelect(where);
    return select.all(...filters.map(([, value]) => value)).map(attemptOf);
  }

  /**
   * Calls `listener` with every attempt that ends from now on. Returns the function that stops this.
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
    this.#writes.add(() => this.#insert.run(...columnsOf(attempt)));
    // In a microtask of its own, so that a listener that throws doesn't disturb the delivery.
    for (const listener of this.#listeners) queueMicrotask(() => listener(attempt));
    return attempt;
  }

  #prepareSelect(where: string): Statement<string[], AttemptRow> {
    const sql = `select * from attempts ${where} order by id`;
    const select = this.#database.connection.prepare<string[], AttemptRow>(sql);
    this.#selects.set(where, select);
    return select;
  }
}

interface AttemptRow {
  readonly id: number;
  readonly subscription_id: string;
  readonly trace_id: string;
  readonly call_id: string;
  readonly event_name: string;
  readonly number: number;
  readonly started_at: number;
  readonly latency_ms: number;
  readonly status: number | null;
  readonly answer: string | null;
  readonly failure: string | null;
  readonly is_delivered: number;
  readonly disturbance: string | null;
}

function columnsOf(attempt: Attempt): Column[] {
  return [
    attempt.id,
    attempt.subscriptionId,
    attempt.traceId,
    attempt.callId,
    attempt.eventName,
    attempt.number,
    attempt.startedAt,
    attempt.latencyMs,
    attempt.status ?? null,
    attempt.answer ?? null,
    attempt.failure ?? null,
    Number(attempt.isDelivered),
    attempt.disturbance ?? null,
  ];
}

function attemptOf(row: AttemptRow): Attempt {
  return {
    id: row.id,
    subscriptionId: row.subscription_id,
    traceId: row.trace_id,
    callId: row.call_id,
    eventName: row.event_name,
    number: row.number,
    startedAt: row.started_at,
    latencyMs: row.latency_ms,
    status: row.status ?? undefined,
    answer: row.answer ?? undefined,
    failure: row.failure ?? undefined,
    isDelivered: row.is_delivered === 1,
    disturbance: row.disturbance ?? undefined,
  };
}
