import { setImmediate } from 'node:timers';

/**
 * Time as an input. What asks for the time or waits does it through a clock, so that tests move time by hand and no
 * test sleeps. Only what waits for a socket of its own, or for a signal, goes by the machine's time.
 */
export interface Clock {
  /** The wall clock, in milliseconds since 1970. May jump; used for what is stored. */
  now(): number;
  /** A clock that never jumps, in milliseconds from any start. Used for measuring. */
  elapsed(): number;
  /**
   * Calls `action` after `ms` milliseconds, however the wall clock is set meanwhile. Returns the function
   * that cancels it. A timer never keeps a process alive that has nothing else to do.
   */
  after(ms: number, action: () => void): () => void;
}

/** Chance as an input: a number from 0 up to, not including, 1. `Math.random` is the default. */
export type Random = () => number;

/** The longest wait that Node's timers take; a longer one would fire at once. */
const maxTimer = 2 ** 31 - 1;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, Math.min(Math.max(ms, 0), maxTimer));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * The same clock with a wall time of whole milliseconds, as times are stored: one made of `performance.now()` has
 * fractions of them. The machine's own has none. What else it can do stays: a manual clock is known by that.
 */
export function inWholeMilliseconds(clock: Clock): Clock {
  if (clock.now === systemClock.now) return clock;
  return {
    ...clock,
    now: () => Math.floor(clock.now()),
    elapsed: () => clock.elapsed(),
    after: (ms, action) => clock.after(ms, action),
  };
}

/** How far the wall clock is from the monotonic one, in milliseconds: it changes only when the wall clock is set. */
export function distanceOf(clock: Clock): number {
  return clock.now() - clock.elapsed();
}

/** Resolves after `ms` milliseconds of the clock, or as soon as the signal is aborted. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}

/** Resolves as the promise does, or rejects with `late()` if that takes longer than `ms` milliseconds. The promise goes on. */
export function inTime<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    // If the app has blocked its event loop, what is waited for may have come: it is read in this turn, after the timers.
    const cancel = clock.after(ms, () => setImmediate(() => reject(late())));
    promise.then(resolve, reject).finally(cancel);
  });
}

/**
 * Keeps the process alive while it waits for something that must not be abandoned: a clock's timers don't do that.
 * Returns the function that lets the process end again.
 */
export function refProcess(): () => void {
  const timer = setInterval(() => {}, maxTimer);
  return () => clearInterval(timer);
}

/** Blocks the whole thread: only for when nothing else in it may run, or there is nothing else to run. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms);
}
