/** What a handler is and what it is called with: the shapes of Run → Outcome. */
import type { Logger } from 'pino';
import type { CallRecord } from './calls/timeline.ts';
import type { Backoff } from './kit/backoff.ts';
import type { CallEvent } from './model.ts';

/**
 * How an attempt ended. The reason is the user's own words, kept in the inbox for a person to read; the cause
 * is one word that is safe to log.
 */
export type Outcome =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'retry';
      /** Milliseconds until the next attempt. */
      readonly delay: number;
      /** Whether this attempt counts: one that was interrupted by a stop doesn't. */
      readonly counts: boolean;
      readonly reason: string;
      readonly cause: string;
      /** Where in the user's own files it was thrown. */
      readonly place?: string | undefined;
    }
  | {
      readonly kind: 'dead';
      readonly reason: string;
      readonly cause: string;
      readonly place?: string | undefined;
    };

/** How a handler's failed runs are retried. Times in milliseconds. */
export interface RetryPolicy extends Backoff {
  /** How many attempts a run has at the most. */
  readonly attempts: number;
}

/** What keeps a function that returns a promise from being taken: the editor says so before the run does. */
export type Synchronous<Result> = [Result] extends [never]
  ? unknown
  : Result extends PromiseLike<unknown>
    ? 'should be synchronous: await what you need before ctx.commit'
    : unknown;

/** What a user's function is called with besides the event. */
export interface RunContext {
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  /** Aborted at the deadline, and when `stop` has waited for `drain`. */
  readonly signal: AbortSignal;
  /** A child of the receiver's logger that carries traceId, callId and handler. */
  readonly log: Logger;
  /** When the event arrived. */
  readonly receivedAt: Date;
  /** The replay that asked for this run, or undefined for an ordinary one. */
  readonly replay: RunReplay | undefined;
  /** What the event's call has become so far, or undefined for an event without a call. */
  call(): Promise<CallRecord | undefined>;
  /**
   * Writes the handler's effects and the run's "done" mark in one transaction of the inbox's own database:
   * both happen, or neither, so the effects happen exactly once. `effects` is synchronous; at most one commit
   * a run. Rejects, with nothing written, when `effects` throws or the run is no longer this process's.
   *
   * @example await ctx.commit((db) => { db.prepare('insert into orders (call_id) values (?)').run(callId); });
   */
  readonly commit: <Result>(
    effects: ((database: UserDatabase) => Result) & Synchronous<Result>,
  ) => Promise<void>;
}

/** Why a settled run is run again: what `receiver.events.replay` was told. */
export interface RunReplay {
  /** The replay's number, in the runs that it has put back and in the table `replays`. */
  readonly id: number;
  readonly reason: string | undefined;
  /** Who asked for it. */
  readonly by: string | undefined;
}

/** What `effects` may do with the inbox's database: the part of better-sqlite3 that is stable and synchronous. */
export interface UserDatabase {
  prepare(sql: string): UserStatement;
  exec(sql: string): unknown;
}

/** The inbox's own database, for users' own tables. */
export interface InboxDatabase extends UserDatabase {
  /** Runs `work`, which is synchronous, in one transaction, and returns what it returns. */
  transaction<Result>(work: () => Result): Result;
}

/** A prepared statement of a `UserDatabase`. */
export interface UserStatement {
  run(...parameters: readonly unknown[]): { changes: number; lastInsertRowid: number | bigint };
  get(...parameters: readonly unknown[]): unknown;
  all(...parameters: readonly unknown[]): unknown[];
}

/** How the events of one call follow each other within one handler. */
export type Order = 'call' | 'strict' | 'none';

/** A registered handler with everything resolved. */
export interface Handler {
  readonly name: string;
  /** Event names and patterns it takes; the fallback has none. */
  readonly patterns: readonly string[];
  readonly isFallback: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly retry: RetryPolicy;
  readonly order: Order;
  readonly concurrency: number;
  /** What it waits for, when it is a join: then its function gets a call instead of an event. */
  readonly join: JoinTerms | undefined;
  /** The user's function. */
  readonly handle: (subject: CallEvent | JoinedCall, context: RunContext) => unknown;
}

/** What a join waits for. */
export interface JoinTerms {
  /** The names of the events that make it complete. */
  readonly events: readonly string[];
  /** How long it waits after the first of them, in milliseconds. */
  readonly within: number;
  /** Whether an event that comes after it was called makes it run again, once. */
  readonly runsAgain: boolean;
}

/** What a join's function gets: the call, and whether everything that was waited for has arrived. */
export interface JoinedCall extends CallRecord {
  /** True: all events arrived. False: time ran out. */
  readonly complete: boolean;
  /** The names that have not arrived. */
  readonly missing: readonly string[];
}

/** One handler's work on one event. */
export interface Run {
  readonly handler: Handler;
  /** Gives what the handler gets, and may change. Read anew for each handler of the event but the first. */
  readonly event: () => CallEvent | Promise<CallEvent>;
  readonly traceId: string;
  readonly eventName: string;
  readonly callId: string | undefined;
  /** The inbox's number for the event. */
  readonly sequence: number;
  readonly receivedAt: number;
  /** Whether the inbox has a row for this run. */
  readonly stored: boolean;
  /** Whether the attempt is counted before it begins: a run that ends its process must come to an end. */
  readonly isCounted: boolean;
  /** How many processes have died while they held its event. */
  readonly takeovers: number;
  /** Attempts counted so far, this one not included. */
  readonly attempts: number;
  /** The replay that put it back, if any. */
  readonly replay: RunReplay | undefined;
}
