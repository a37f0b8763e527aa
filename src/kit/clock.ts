import {
  clearTimeout as clearRuntimeTimeout,
  setImmediate,
  setTimeout as setRuntimeTimeout,
} from 'node:timers';

/**
 * Time as an input. Code reads the time and waits through a clock, so that tests advance time by hand and no test
 * sleeps. Only waiting for sockets and signals uses the machine's time.
 */
export interface Clock {
  /** The wall clock, in milliseconds since 1970. May jump; used for what is stored. */
  now(): number;
  /** The monotonic clock, in milliseconds from any start. Never jumps; used for measuring. */
  elapsed(): number;
  /**
   * Calls `action` after `ms` milliseconds, even if the wall clock is set meanwhile. Returns a function that cancels
   * it. A timer doesn't keep the process alive.
   */
  after(ms: number, action: () => void): () => void;
}

/** Randomness as an input: a number from 0 up to, not including, 1. `Math.random` is the default. */
export type Random = () => number;

/** The longest delay of Node's timers; a longer one would fire at once. */
const maxTimer = 2 ** 31 - 1;

/** The machine's time. */
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
 * Calls `action` after `ms` milliseconds of the runtime, also while a clock is advanced by hand or a user's tests fake
 * the global timers. Keeps the process alive until then. Returns a function that cancels it.
 */
export function runtimeTimer(ms: number, action: () => void): () => void {
  const timer = setRuntimeTimeout(action, ms);
  return () => clearRuntimeTimeout(timer);
}

/**
 * The same clock with a wall time of whole milliseconds, as times are stored: a user's clock made of
 * `performance.now()` has fractions. Other methods stay, since a manual clock is recognized by them.
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

/** The wall clock minus the monotonic one, in milliseconds. It changes only if the wall clock is set. */
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

/** As `clock.after`, but with 0 it calls `action` at once: a manual clock may never be advanced again. */
export function atOnceOrAfter(clock: Clock, ms: number, action: () => void): () => void {
  if (ms > 0) return clock.after(ms, action);
  action();
  return () => {};
}

/** Settles as the promise does, or rejects with `late()` after `ms` milliseconds. The promise goes on. */
export function inTime<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    // If the app has blocked the event loop, the result may be there already, and is read later in this turn.
    const cancel = clock.after(ms, () => setImmediate(() => reject(late())));
    promise.then(resolve, reject).finally(cancel);
  });
}

/**
 * Keeps the process alive while it waits for something that must not be abandoned: a clock's timers don't. Returns a
 * function that ends this.
 */
export function refProcess(): () => void {
  const timer = setInterval(() => {}, maxTimer);
  return () => clearInterval(timer);
}

/** Blocks the thread. Only for where nothing else may or can run in it. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms);
}
