/** The part of the store that counts how the platform departs from its documents: names and counts, never a value. */
import type { Drift } from '../events/drift.ts';

/** A difference from the platform's documents. Times in milliseconds since 1970. */
export interface DriftRow extends Drift {
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** The number of events that had it. */
  readonly count: number;
}

/** Keeps each difference once, and counts how often it was seen. */
export interface DriftStore {
  /**
   * Adds counts, and resolves to the differences that are new. New ones beyond the store's bounds are dropped.
   */
  add(rows: readonly DriftRow[]): Promise<readonly Drift[]>;
  /** Every difference, newest first. */
  list(): Promise<readonly DriftRow[]>;
}
