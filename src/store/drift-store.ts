/** The part of the store that counts how the platform departs from its documents: names and counts, never a value. */
import type { Drift } from '../events/drift.ts';

/** A difference, and how often it was seen. Times in milliseconds since 1970. */
export interface DriftRow extends Drift {
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** In how many events. */
  readonly count: number;
}

/** Keeps each difference once, and counts how often it was seen. */
export interface DriftStore {
  /**
   * Adds counts, and resolves to the differences that were never seen before. Those beyond the store's bounds are left
   * out.
   */
  add(rows: readonly DriftRow[]): Promise<readonly Drift[]>;
  /** Every difference, the one first seen last coming first. */
  list(): Promise<readonly DriftRow[]>;
}
