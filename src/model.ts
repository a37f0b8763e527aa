/**
 * The shapes data takes on its way: Delivery → CallEvent → Run → Outcome. A stage takes one shape and returns
 * the next.
 */
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { configError } from './errors.ts';
import type { Backoff } from './kit/backoff.ts';
import { type Duration, parseDuration } from './kit/duration.ts';
import type { TrustProxy } from './kit/trust-proxy.ts';

/** The headers of a delivery: names in lower case, as node:http gives them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Where the raw bytes of a delivery are: still on the way, already read by a body parser that kept them, or
 * lost to one that did not.
 */
export type BodySource =
  | { readonly kind: 'stream'; readonly stream: Readable }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'parsed' };

/** One HTTP request from the platform, with nothing of a web framework left in it. */
export interface Delivery {
  readonly method: string;
  readonly headers: Headers;
  readonly body: BodySource;
  /** Address of the socket's peer, when there is a socket. */
  readonly peerAddress: string | undefined;
  /** Whether the socket itself is TLS. */
  readonly encrypted: boolean;
  /** The app's own `trust proxy`, when mounted in Express; the receiver's option goes first. */
  readonly appTrustProxy: TrustProxy | undefined;
}

/** What the sender is answered. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** Takes a delivery and says what to answer; never rejects. */
export type Take = (delivery: Delivery) => Promise<Reply>;

/** How a signature is written and over what. Every name below is explained in `signature/layouts.ts`. */
export interface Layout {
  /** Header that carries the signature, in lower case. */
  readonly header: string;
  /** How the header is written: `v1=…`, `t=…,v1=…`, `sha256=…`, `v1,…`, or the bare signature. */
  readonly syntax: 'v1=' | 't=,v1=' | 'sha256=' | 'v1,' | 'bare';
  /** What is signed, over `{body}`, `{t}` (from the signature header), `{id}` and `{timestamp}` (from theirs). */
  readonly content: string;
  readonly encoding: 'hex' | 'base64';
  readonly hash: 'sha256' | 'sha512';
  /** How the secret becomes the key: all of it, the text after `whsec_`, or that text decoded from base64. */
  readonly key: 'whole' | 'suffix' | 'suffix-base64';
}

/** How far the way of reading an event's time had to go. */
export type OccurredAtSource = 'body' | 'header' | 'arrival';

/** Something in an event that is not what its name promises. `path` is dotted; no value is ever in it. */
export interface Issue {
  readonly path: string;
  readonly expected: string;
}

/** What a delivery tells, read leniently. `Name` and `Payload` are narrowed by the event's name. */
export interface CallEvent<Name extends string = string, Payload = Record<string, unknown>> {
  /** Identity of the event: the body's `traceId`, else the header's, else `sha256:` and the body's digest. */
  readonly traceId: string;
  readonly traceIdSource: 'body' | 'header' | 'digest';
  /** For example `CallHandler.CallEnded`; `unknown` when neither body nor header names it. */
  readonly eventName: Name;
  /** Identity of the call, when the event has one. Its format is not ours to assume. */
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  /** The payload in one shape, whether the event came flat or in the envelope; unknown fields included. */
  readonly payload: Payload;
  /** The parsed body exactly as it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The timestamp as it was sent, or undefined. */
  readonly timestamp: string | number | undefined;
  /** When it happened, to the millisecond. */
  readonly occurredAt: Date;
  /** When it happened, in nanoseconds since 1970. */
  readonly occurredAtNs: bigint;
  /** Where the time was found: the body, the header, or, for want of both, the arrival. */
  readonly occurredAtSource: OccurredAtSource;
  /** What the payload misses of what its name promises. An event with issues goes to the fallback. */
  readonly issues: readonly Issue[];
}

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
    }
  | { readonly kind: 'dead'; readonly reason: string; readonly cause: string };

/** A settled or waiting run's way of trying again. Times in milliseconds. */
export interface RetryPolicy extends Backoff {
  /** How many attempts a run has at the most. */
  readonly attempts: number;
}

/** What a user's function is called with besides the event. */
export interface RunContext {
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  /** Aborted at the deadline and when the receiver stops. */
  readonly signal: AbortSignal;
  /** A child of the receiver's logger that carries traceId, callId and handler. */
  readonly log: Logger;
  /** When the event arrived. */
  readonly receivedAt: Date;
  /**
   * Writes the handler's effects and the run's "done" mark in one transaction of the inbox's own database:
   * both happen, or neither, so the effects happen exactly once. `effects` is synchronous; at most one commit
   * a run. Rejects, with nothing written, when `effects` throws or the run is no longer this process's.
   *
   * @example await ctx.commit((db) => { db.prepare('insert into orders (call_id) values (?)').run(callId); });
   */
  commit(effects: (database: UserDatabase) => void): Promise<void>;
}

/** What `effects` may do with the inbox's database: the part of better-sqlite3 that is stable and synchronous. */
export interface UserDatabase {
  prepare(sql: string): UserStatement;
  exec(sql: string): unknown;
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
  /** The user's function. */
  readonly handle: (event: CallEvent, context: RunContext) => unknown;
}

/** One handler's work on one event. */
export interface Run {
  readonly handler: Handler;
  readonly event: CallEvent;
  /** The inbox's number for the event. */
  readonly sequence: number;
  readonly receivedAt: number;
  /** Whether the inbox has a row for this run. */
  readonly stored: boolean;
  /** Whether the attempt is counted before it begins, because a process has died over this event. */
  readonly suspect: boolean;
  /** Attempts counted so far, this one not included. */
  readonly attempts: number;
}

const discardMark: unique symbol = Symbol.for('ringback.Discard') as never;
const retryLaterMark: unique symbol = Symbol.for('ringback.RetryLater') as never;

/**
 * Thrown by a handler to give a run up at once: it becomes a dead letter.
 *
 * @example throw new Discard('the customer no longer exists')
 */
export class Discard extends Error {
  override readonly name = 'Discard';
  readonly [discardMark] = true;

  /** Known by its mark, not by its class: a program may hold two copies of this module. */
  static is(thrown: unknown): thrown is Discard {
    return typeof thrown === 'object' && thrown !== null && discardMark in thrown;
  }
}

/**
 * Thrown by a handler to be called again after a time of its own choosing. It counts as an attempt.
 *
 * @example throw new RetryLater('10m', 'the analysis is not ready yet')
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly [retryLaterMark] = true;
  /** Milliseconds. */
  readonly delay: number;

  constructor(delay: Duration, reason = 'the handler asked for a later attempt') {
    super(reason);
    const milliseconds = parseDuration(delay);
    if (milliseconds === undefined)
      throw configError('option_invalid', {
        option: 'RetryLater(delay)',
        expected: "milliseconds or a string such as '90s', '5m' or '2h'",
        found: JSON.stringify(delay),
      });
    this.delay = milliseconds;
  }

  /** Known by its mark, not by its class: a program may hold two copies of this module. */
  static is(thrown: unknown): thrown is RetryLater {
    return typeof thrown === 'object' && thrown !== null && retryLaterMark in thrown;
  }
}
