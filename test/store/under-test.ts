import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/kit/clock.ts';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from '../support/clock.ts';
import { presentTime } from './parts.ts';

/** A place for data, and ways to get at it. */
export interface StoreUnderTest {
  /** A store that is not open. Each one made sees the same data, where data can be shared. */
  readonly make: (clock: Clock) => Store;
  /** What only data that outlives a store, or is shared by several, can show; left out otherwise. */
  readonly shared?: {
    /** Claims everything in a process of its own, which is killed while it holds it. */
    readonly dieHolding: () => Promise<void>;
    /** Locks the data against writing; returns what unlocks it. */
    readonly lock: () => () => void;
  };
}

/** An open store, at the time of `parts.ts` unless told otherwise, which is closed when the test ends. */
export async function openedOf(
  under: StoreUnderTest,
  clock: Clock = new ManualClock(presentTime),
): Promise<Store> {
  const store = under.make(clock);
  await store.open();
  onTestFinished(() => store.close());
  return store;
}
