/** What a store hands over when this process claims it: events, and runs that were stored. */
import type { RunReplay } from '../dispatch/handling.ts';
import type { StoredEvent } from './event-store.ts';

/** Which of the due runs may be claimed. */
export interface ClaimOrder {
  /** Whether a run is left out while an earlier run of the same handler and call waits. */
  readonly isStrict: boolean;
  /** Calls whose runs are left out, because this process has enough of them in hand. */
  readonly without: readonly string[];
  /** Whether at most one run of each call is claimed. */
  readonly isOneACall: boolean;
}

/** A stored run of the same call that is not settled, from an earlier event. */
export interface OpenRun {
  readonly handler: string;
  readonly attempts: number;
  /**
   * When it is due, in the store's own time: only to be compared with others, and to be passed back for a run that
   * follows it. Zero means at once.
   */
  readonly dueAt: number;
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
  /** Handlers that already have a stored run for this event, in whatever state. */
  readonly storedHandlers: readonly string[];
  /**
   * Unsettled stored runs of earlier events of the same call. One for each handler is enough: of those whose first
   * attempt has not begun, the one that is due last; if all have begun, any of them.
   */
  readonly openRuns: readonly OpenRun[];
}

/** A claimed run that was stored. */
export interface ClaimedRun extends StoredEvent, CrashCounts {
  readonly handler: string;
  /** Attempts that have been counted so far. */
  readonly attempts: number;
  /** The replay that put it back, if any. */
  readonly replay: RunReplay | undefined;
}
