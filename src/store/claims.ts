/** What a store returns when this process claims it: events, and runs that were stored. */
import type { JoinTerms, Order, RunReplay } from '../dispatch/handler.ts';
import type { StoredEvent } from './event-store.ts';

/** What the store has to know of a handler. */
export interface HandlerTerms {
  readonly name: string;
  readonly order: Order;
  /** What it waits for, if it is a join. */
  readonly join: JoinTerms | undefined;
}

/** Which of a handler's due runs may be claimed. */
export interface RunSelection {
  readonly limit: number;
  /** How many bytes their bodies may have, all but that of the last; one run is claimed in any case. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Calls whose runs are left out, because this process has enough of them in flight. */
  readonly without: readonly string[];
  /** Whether at most one run of each call is claimed. */
  readonly isOneACall: boolean;
}

/** What deaths of processes say about an event: most events have seen none. */
export interface CrashCounts {
  /**
   * How many processes may have died of this event: the first that died while it held the event, and each that died
   * after it had begun to try it by itself (`beginReading`). One that only held it as well is not counted.
   */
  readonly crashCount: number;
  /** How many of them died while they read it, so that no handler can have killed them. */
  readonly readingCrashes: number;
}

/**
 * Whether an event, or a run of it, may kill the process: one has died over it. Each attempt is then counted before the
 * event is read, and begins by itself.
 */
export function mayBePoison({ crashCount }: CrashCounts): boolean {
  return crashCount > 0;
}

/** A claimed event: this process, and no other, may run its handlers until they are settled or the process dies. */
export interface ClaimedEvent extends StoredEvent, CrashCounts {
  /** The store's own note about the claim. Nobody else looks into it. */
  readonly claim: unknown;
}

/** A claimed run: one handler's work on a claimed event, or a run that was stored. */
export interface ClaimedRun extends StoredEvent, CrashCounts {
  readonly handler: string;
  /** Attempts that have been counted so far. */
  readonly attempts: number;
  /** The replay that put it back, if any. */
  readonly replay: RunReplay | undefined;
  /**
   * Since when it waits, as `Backlog` tells it, in milliseconds since 1970; undefined while the replay goes on that has put it back.
   */
  readonly waitsSince: number | undefined;
  /** See `ClaimedEvent`. */
  readonly claim: unknown;
}

/** Whether a write about a claim took effect: `lost` when another process had taken over the claim. */
export type Settled = 'settled' | 'lost';
