import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/kit/clock.ts';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from '../support/clock.ts';
import { presentTime } from './parts.ts';

/** A store's data, and functions to work with it. */
export interface StoreUnderTest {
  /** Makes a store that is not open yet. If data can be shared, all these stores see the same data. */
  readonly make: (clock: Clock) => Store;
  /** For data that outlives a store or is shared by several stores; otherwise left out. */
  readonly shared?: {
    /** Claims everything in a process of its own, and kills that process. */
    readonly dieHolding: () => Promise<void>;
    /** The same, after it has begun to read each event. */
    readonly dieReading: () => Promise<void>;
    /** Claims every event in a process of its own, begins a run of it for `one` and for `two`, and kills the process. */
    readonly dieBeginning: () => Promise<void>;
    /** Locks the data against writing; returns the function that unlocks it. */
    readonly lock: () => (() => unknown) | Promise<() => unknown>;
  };
}

/** An open store, by default at the time of `parts.ts`; it is closed when the test ends. */
export async function openedOf(
  under: StoreUnderTest,
  clock: Clock = new ManualClock(presentTime),
): Promise<Store> {
  const store = under.make(clock);
  await store.open();
  onTestFinished(() => store.close());
  return store;
}
