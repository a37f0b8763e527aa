import { z } from 'zod';
import { type Clock, pause } from '../../kit/clock.ts';

/** Options of `calls.traffic`. */
export interface TrafficOptions {
  /** Calls per minute of the platform's time: at a speed of 10, a real minute has ten times as many. */
  readonly callsPerMinute: number;
  /** How many calls in all. @default no end */
  readonly count?: number | undefined;
  /** Stops the traffic. Calls that have begun are played to their end. */
  readonly signal?: AbortSignal | undefined;
}

const expected = {
  rate: 'a number above 0, at most 1,000,000',
  count: 'a whole number of 1 or more',
};

export const trafficSchema = z.strictObject({
  callsPerMinute: z.number(expected.rate).positive(expected.rate).max(1_000_000, expected.rate),
  count: z.int(expected.count).min(1, expected.count).default(Number.MAX_SAFE_INTEGER),
  signal: z.instanceof(AbortSignal, { error: 'an AbortSignal' }).optional(),
});

interface Traffic {
  /** Begins a call; the promise resolves when the call has ended. */
  readonly begin: () => Promise<void>;
  readonly interval: number;
  readonly count: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * How much missed time is made up for, in milliseconds. After a longer suspension of the machine, all missed calls at
 * once would be a flood.
 */
const maxLag = 1_000;
/** The most calls at once, to bound the memory; further calls wait until some have ended. */
const maxAtOnce = 20_000;

/** Plays calls at an even pace. Resolves to their number when all have ended. */
export async function playTraffic({ begin, interval, count, signal, clock }: Traffic): Promise<number> {
  const playing = new Set<Promise<void>>();
  let played = 0;
  let nextAt = clock.elapsed();
  while (played < count && !signal.aborted) {
    const now = clock.elapsed();
    nextAt = Math.max(nextAt, now - maxLag);
    // Timers are no finer than a millisecond, so all calls that are due now begin together. Calls that become due
    // meanwhile wait: if beginning a call took longer than the interval, nothing else would ever run.
    while (played < count && nextAt <= now && playing.size < maxAtOnce) {
      const call = begin().finally(() => playing.delete(call));
      playing.add(call);
      played += 1;
      nextAt += interval;
    }
    if (played < count) await pause(clock, nextAt - clock.elapsed(), signal);
  }
  await Promise.all(playing);
  return played;
}
