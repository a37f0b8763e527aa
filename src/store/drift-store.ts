/** The part of the store that counts how the platform departs from its documents: names and counts, never a value. */
import type { Drift } from '../events/drift.ts';

/** A departure, and how often it was seen. Times in milliseconds since 1970. */
export interface DriftRow extends Drift {
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** In how many events. */
  readonly count: number;
}

/** Keeps each departure once, with how often it was seen. */
export interface DriftStore {
  /** Adds counts, and resolves to what was never seen before. What is over the bounds is left out. */
  add(rows: readonly DriftRow[]): Promise<readonly Drift[]>;
  /** Everything that was seen, the latest first seen first. */
  list(): Promise<readonly DriftRow[]>;
}
