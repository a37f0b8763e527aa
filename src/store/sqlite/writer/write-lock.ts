/**
 * The write lock of one process. SQLite lets one connection write at a time. The writer thread makes all writes of this
 * process except users' own, in `ctx.commit` and through `receiver.database`, which must run on the app's thread. For
 * these the writer grants its lock between two commits: under load, the app's thread would hardly ever find SQLite's own
 * lock free.
 */
import { refProcess, systemClock } from '../../../kit/clock.ts';

/** Indices in the shared memory. */
const state = 0;
const requested = 1;

/** States. */
const kept = 0;
const granted = 1;

/** How long the app's thread is blocked at most, in milliseconds: the writer thread may have ended. */
const maxBlocked = 2_000;

/** The app's side. It has the lock only while functions run, and gives it back before it returns to the event loop. */
export class BorrowedLock {
  readonly memory = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  /** Wakes the writer, which may be idle. Undefined if there is no writer, so that nobody else in this process writes. */
  #ask: (() => void) | undefined;
  readonly #waiting: (() => void)[] = [];
  #depth = 0;
  #unref: (() => void) | undefined;

  /** Gives the lock to a writer, which `ask` wakes. */
  writerBegins(ask: () => void): void {
    Atomics.store(this.memory, state, kept);
    this.#ask = ask;
  }

  /** Call when the writer has ended. */
  writerEnded(): void {
    this.#ask = undefined;
    this.#runWaiting();
  }

  /** Runs `work` when the writer has granted its lock. `work` must not throw. */
  later(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#ask) return this.#runWaiting();
    // A process that waits for nothing but the lock, for example while it stops, must not end.
    this.#unref ??= refProcess();
    this.#request(this.#ask);
  }

  /**
   * Blocks until the writer has granted its lock, and runs `work`: for users' synchronous writes.
   *
   * @throws SQLITE_BUSY if the writer doesn't grant it: another process may have locked the database
   */
  now<T>(work: () => T): T {
    if (this.#depth > 0 || !this.#ask) return work();
    this.#request(this.#ask);
    this.#block(this.#ask);
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
      this.#runWaiting();
      this.#giveBack();
    }
  }

  /** Call when the writer reports that it has granted the lock. `now` may already have used it and given it back. */
  onGranted(): void {
    if (this.#depth > 0 || Atomics.load(this.memory, state) !== granted) return;
    this.#runWaiting();
    this.#giveBack();
  }

  /** Blocks until the lock is granted. A waiter may be woken by an earlier change, so both sides check the state again. */
  #block(ask: () => void): void {
    const deadline = systemClock.elapsed() + maxBlocked;
    while (Atomics.load(this.memory, state) !== granted) {
      const left = deadline - systemClock.elapsed();
      if (left <= 0 && this.#withdraw()) {
        // The withdrawn request was also for the work that waits without blocking.
        if (this.#waiting.length > 0) this.#request(ask);
        throw locked();
      }
      Atomics.wait(this.memory, state, kept, left > 0 ? left : Infinity);
    }
  }

  #request(ask: () => void): void {
    if (Atomics.exchange(this.memory, requested, 1) === 0) ask();
  }

  /** Withdraws the request. Returns false if the writer has seen it, and grants it. */
  #withdraw(): boolean {
    return Atomics.exchange(this.memory, requested, 0) === 1;
  }

  #giveBack(): void {
    Atomics.store(this.memory, requested, 0);
    Atomics.store(this.memory, state, kept);
    Atomics.notify(this.memory, state);
  }

  /** Runs all waiting work, including what that adds. */
  #runWaiting(): void {
    this.#depth += 1;
    try {
      for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) work();
    } finally {
      this.#depth -= 1;
      this.#unref?.();
      this.#unref = undefined;
    }
  }
}

function locked(): Error {
  return Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
}

/**
 * The writer's side, called between two commits: grants the lock if the app's thread has requested it, and blocks until
 * it is given back. `report` wakes an app that waits without blocking.
 */
export function grantIfRequested(memory: Int32Array<SharedArrayBuffer>, report: () => void): void {
  if (Atomics.exchange(memory, requested, 0) === 0) return;
  Atomics.store(memory, state, granted);
  Atomics.notify(memory, state);
  report();
  while (Atomics.load(memory, state) === granted) Atomics.wait(memory, state, granted);
}
