/** What a database returns of events that it has recorded, and with a claim. */
import type { ClaimedEvent, ClaimedRun } from '../claims.ts';
import type { Sequence } from '../event-record.ts';

/** The outcome of recording an event. */
export interface Recorded {
  /** Undefined for a duplicate. */
  readonly sequence: Sequence | undefined;
  /** The process that has claimed it by the same write, if one has. */
  readonly claimedBy: number | undefined;
}

export const duplicate: Recorded = { sequence: undefined, claimedBy: undefined };

/** An unsettled stored run of an earlier event of the same call. */
export interface OpenRun {
  readonly handler: string;
  /**
   * Whether an attempt of it has begun. A blocked run that a claim finds counts as begun: it was blocked under order
   * `strict`, and must not hold up its handler if that has another order now.
   */
  readonly hasBegun: boolean;
}

/** Under which id a claim was made. */
export interface Claimed {
  /** The id of the process as it claimed: taken for dead, it enters again under another id. */
  readonly claimedBy: number;
}

/** A claimed event, as a database returns it. */
export interface FoundEvent extends Omit<ClaimedEvent, 'claim'>, Claimed {
  /** Handlers that already have a stored run of the event, in any state. */
  readonly storedHandlers: readonly string[];
  /** The open runs before it: one for each handler is enough, preferably one that has not begun. */
  readonly openRuns: readonly OpenRun[];
}

/** A claimed stored run, as a database returns it. */
export type FoundRun = Omit<ClaimedRun, 'claim'> & Claimed;
