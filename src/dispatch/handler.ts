/** What a handler is, what it is called with, and how its attempts end. */
import type { Logger } from 'pino';
import type { CallRecord } from '../calls/timeline.ts';
import type { Backoff } from '../kit/duration.ts';
import type { CallEvent } from '../events/model.ts';

/**
 * How an attempt ended. The reason, mostly the messages of the handler's error and its causes, is stored in the inbox
 * for a person to read; it may contain personal data. The cause is one word that is safe to log.
 */
export type Outcome =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'retry';
      /** Milliseconds until the next attempt. */
      readonly delay: number;
      /** Whether this attempt counts: an attempt that was interrupted by `stop` doesn't. */
      readonly counts: boolean;
      readonly reason: string;
      readonly cause: string;
      /** Where in the user's own files the error was thrown. */
      readonly location?: string | undefined;
    }
  | {
      readonly kind: 'dead';
      readonly reason: string;
      readonly cause: string;
      readonly location?: string | undefined;
    };

/** How an attempt ended that failed. */
export type FailedOutcome = Exclude<Outcome, { readonly kind: 'done' }>;

/** How a handler's failed runs are retried. Times in milliseconds. */
export interface RetryPolicy extends Backoff {
  /** How many attempts a run may have. */
  readonly attempts: number;
}

/** Makes the compiler refuse a function that returns a promise. */
export type Synchronous<Result> = [Result] extends [never]
  ? unknown
  : Result extends PromiseLike<unknown>
    ? 'should be synchronous: await what you need before ctx.commit'
    : unknown;

/**
 * The context that a handler gets besides the event. `Transaction` is the type of what `commit` passes to its
 * function: with SQLite, the default, a synchronous connection. With Postgres, write
 * `RunContext<PostgresTransaction>`.
 */
export interface RunContext<Transaction = UserDatabase> {
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  /**
   * A UUID that is the same in each attempt and each replay of this run, and in no other run: derived from the
   * event's trace id (for a join, the call's id) and the handler's name. Send it along with requests to other
   * services, so that they can ignore a repetition. A join that runs again after a late event has the same key.
   *
   * @example await fetch(url, { method: 'POST', headers: { 'idempotency-key': ctx.idempotencyKey }, body });
   */
  readonly idempotencyKey: string;
  /** Aborted at the deadline, and when the `drain` of `stop` is over. */
  readonly signal: AbortSignal;
  /** A child of the receiver's logger, with traceId, callId and handler. */
  readonly log: Logger;
  /** When the event arrived. */
  readonly receivedAt: Date;
  /** The replay that asked for this run, or undefined for an ordinary one. */
  readonly replay: RunReplay | undefined;
  /** The record of the event's call, computed from its events so far; undefined for an event without a call. */
  call(): Promise<CallRecord | undefined>;
  /**
   * Writes the handler's effects and marks the run done in one transaction of the inbox's own database: both happen or
   * neither, so the effects happen exactly once. `effects` must be synchronous if the database is, as SQLite is, and a
   * run can commit once. Resolves to what `effects` returned, once all of it is on disk. Rejects, with nothing written,
   * if `effects` throws or the run no longer belongs to this process.
   *
   * @throws What `effects` throws; RingbackError `commit_repeated`, `commit_asynchronous`, `commit_too_late`,
   * `commit_not_a_function`, `transaction_ended`
   * @example await ctx.commit((db) => { db.prepare('insert into orders (call_id) values (?)').run(callId); });
   */
  readonly commit: CommitOf<Transaction>;
}

/** The type of `commit`: with a synchronous database, the compiler refuses asynchronous effects. */
export type CommitOf<Transaction> = [Transaction] extends [UserDatabase]
  ? <Result>(effects: ((database: Transaction) => Result) & Synchronous<Result>) => Promise<Result>
  : <Result>(effects: (transaction: Transaction) => Result | PromiseLike<Result>) => Promise<Result>;

/** Which replay a run belongs to: what was passed to `receiver.events.replay`. */
export interface RunReplay {
  /** The replay's id in the audit list, also on the runs that it requeued. */
  readonly id: number;
  readonly reason: string | undefined;
  /** Who asked for it. */
  readonly by: string | undefined;
}

/**
 * What `ctx.commit` passes to its function on SQLite: a stable, synchronous part of better-sqlite3. On Postgres, it
 * is `PostgresTransaction` of `ringback/postgres`, a connection of the package `pg`.
 */
export interface UserDatabase {
  prepare(sql: string): UserStatement;
  exec(sql: string): unknown;
}

/** `receiver.database` on SQLite: the inbox's connection, for tables of your own. */
export interface InboxDatabase extends UserDatabase {
  /** Runs `work`, which must be synchronous, in one transaction, and returns its result. */
  transaction<Result>(work: () => Result): Result;
}

/** `receiver.database` of an asynchronous inbox such as Postgres, for tables of your own. */
export interface AsyncInboxDatabase<Transaction> {
  /**
   * Runs `work` in one transaction, and resolves to its result. Concurrent calls in several processes run one after
   * another, because `create table if not exists` fails in Postgres when two run it at once.
   */
  transaction<Result>(work: (transaction: Transaction) => Result | PromiseLike<Result>): Promise<Result>;
}

/** The type of `receiver.database`, by the transaction that the inbox's database passes to `commit`. */
export type DatabaseOf<Transaction> = [Transaction] extends [UserDatabase]
  ? InboxDatabase
  : AsyncInboxDatabase<Transaction>;

/** A prepared statement of a `UserDatabase`. */
export interface UserStatement {
  run(...parameters: readonly unknown[]): { changes: number; lastInsertRowid: number | bigint };
  get(...parameters: readonly unknown[]): unknown;
  all(...parameters: readonly unknown[]): unknown[];
}

/** How a handler's runs for one call are ordered: see `HandlerOptions.order`. */
export type Order = 'call' | 'strict' | 'none';

/** A registered handler with all its options resolved. */
export interface Handler {
  readonly name: string;
  /** The event names and patterns that it is registered for; the fallback has none. */
  readonly patterns: readonly string[];
  /** Milliseconds. */
  readonly timeout: number;
  readonly retry: RetryPolicy;
  readonly order: Order;
  readonly concurrency: number;
  /** How often its attempts may begin, in all processes together, if that is bounded; `gap` is in milliseconds. */
  readonly rate: { readonly text: string; readonly gap: number } | undefined;
  /** What it waits for if it is a join. Its function then gets a call instead of an event. */
  readonly join: JoinTerms | undefined;
  /** The user's function. */
  readonly handle: (subject: CallEvent | JoinedCall, context: RunContext) => unknown;
}

/** What a join waits for. */
export interface JoinTerms {
  /** The names of the events that make the join complete. */
  readonly events: readonly string[];
  /** How long the join waits after the first of its events, in milliseconds. */
  readonly within: number;
  /** Whether an event that arrives after the join was called makes it run again, once. */
  readonly runsAgain: boolean;
}

/** The call that a join's function gets, and whether all events of the join have arrived. */
export interface JoinedCall extends CallRecord {
  /** Whether all events have arrived; false if `within` is over. */
  readonly complete: boolean;
  /** The names of the events that have not arrived. */
  readonly missing: readonly string[];
}
