import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';

/** How many calls, and how often. */
export interface TrafficOptions {
  /** Of the platform's minutes: at a speed of 10 there are ten times as many in a real one. */
  readonly callsPerMinute: number;
  /** How many altogether. @default no end */
  readonly count?: number;
  /** Ends it. Calls that have begun are played to their end. */
  readonly signal?: AbortSignal;
}

const expected = {
  rate: 'a number above 0, at most 1,000,000',
  count: 'a whole number of 1 or more',
};

/** Checks the options of traffic. */
export const trafficSchema = z.strictObject({
  callsPerMinute: z.number(expected.rate).positive(expected.rate).max(1_000_000, expected.rate),
  count: z.int(expected.count).min(1, expected.count).default(Number.MAX_SAFE_INTEGER),
  signal: z.instanceof(AbortSignal, { error: 'an AbortSignal' }).optional(),
});

/** Traffic with everything resolved. */
export interface Traffic {
  /** Begins a call, and gives its end. */
  readonly begin: () => Promise<void>;
  /** In real milliseconds. */
  readonly interval: number;
  readonly count: number;
  readonly signal: AbortSignal;
  /** The real one. */
  readonly clock: Clock;
}

/** What a machine that was suspended has missed for longer is not made up for: it would be a flood. Milliseconds. */
const longestLag = 1_000;
/** More calls at once would take the process's memory; the next ones wait until some have ended. */
const mostAtOnce = 20_000;

/** Plays calls at an even pace. Resolves to how many, when all of them have ended. */
export async function playTraffic({ begin, interval, count, signal, clock }: Traffic): Promise<number> {
  const playing = new Set<Promise<void>>();
  let played = 0;
  let nextAt = clock.elapsed();
  while (played < count && !signal.aborted) {
    const now = clock.elapsed();
    nextAt = Math.max(nextAt, now - longestLag);
    // Timers are no finer than a millisecond: all that are due by now, and none that becomes due meanwhile. Where to
    // begin a call takes longer than the time between two, nothing else would ever have its turn.
    while (played < count && nextAt <= now && playing.size < mostAtOnce) {
      const call = begin().finally(() => playing.delete(call));
      playing.add(call);
      played += 1;
      nextAt += interval;
    }
    if (played < count) await pauseUnlessAborted(clock, nextAt - clock.elapsed(), signal);
  }
  await Promise.all(playing);
  return played;
}

function pauseUnlessAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}
