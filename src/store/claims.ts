/** What a process claims from a store, events and stored runs, and what becomes of the writes about a claim. */
import { messageOf } from '../kit/error-text.ts';
import type { JoinTerms, Order, RunReplay } from '../dispatch/handler.ts';
import type { StoredEvent } from './event-store.ts';

/** What the store needs to know about a handler. */
export interface HandlerTerms {
  readonly name: string;
  readonly order: Order;
  /** What the handler waits for, if it is a join. */
  readonly join: JoinTerms | undefined;
}

/** Which of a handler's due runs may be claimed. */
export interface RunSelection {
  readonly limit: number;
  /** Claiming stops once the bodies have this many bytes in all; one run is claimed in any case. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Calls to leave out, because this process has enough of their runs in flight. */
  readonly without: readonly string[];
  /** Whether at most one run of each call is claimed. */
  readonly isOneACall: boolean;
}

/** How many processes died while they held an event. Most events have seen none. */
export interface CrashCounts {
  /**
   * How many processes this event may have killed: the first that died while it held the event, and then each that died
   * after it had begun to try it (`beginReading`). Later processes that only held it are not counted.
   */
  readonly crashCount: number;
  /** How many of them died while they read it, before any handler ran. */
  readonly readingCrashes: number;
}

/** A claimed event: this process, and no other, may run its handlers until they are settled or the process dies. */
export interface ClaimedEvent extends StoredEvent, CrashCounts {
  /** The store's own data about the claim, opaque to everybody else. */
  readonly claim: unknown;
}

/** A claimed run: one handler's work on a claimed event, or a stored run. */
export interface ClaimedRun extends StoredEvent, CrashCounts {
  readonly handler: string;
  /** Attempts that have been counted so far. */
  readonly attempts: number;
  /** The replay that requeued it, if any. */
  readonly replay: RunReplay | undefined;
  /** Since when it has waited, as in `Backlog`, in milliseconds since 1970; undefined while its replay is running. */
  readonly waitsSince: number | undefined;
  /** See `ClaimedEvent`. */
  readonly claim: unknown;
}

/** Whether a write about a claim took effect: `lost` when another process had taken over the claim. */
export type Settled = 'settled' | 'lost';

/**
 * The error of `settleWith` when the write is committed and visible to everybody, but the disk has not confirmed that
 * it would survive a power cut. The write has not failed and must not be repeated: call `confirm` to ask the disk
 * again.
 */
export class Unconfirmed extends Error {
  /** Resolves when the write is on disk; rejects when the disk refuses once more. */
  readonly confirm: () => Promise<void>;

  constructor(cause: unknown, confirm: () => Promise<void>) {
    super(messageOf(cause), { cause });
    this.confirm = confirm;
  }
}
