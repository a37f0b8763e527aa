/**
 * The write lock of one process. SQLite lets one connection write at a time; this process writes through the writer
 * thread, and only what users write, in `ctx.commit` and through `receiver.database`, must be written on their own
 * thread. For that the writer lends its lock, between two commits: left to SQLite's own lock, the app's thread would
 * hardly ever find it free under load.
 */
import { refProcess, systemClock } from '../../../kit/clock.ts';

/** Indices in the shared memory. */
const state = 0;
const wanted = 1;

/** States. */
const kept = 0;
const lent = 1;

/** How long the app's thread is blocked at the most, in milliseconds: the writer thread may have ended. */
const maxBlocked = 2_000;

/** The app's side: it has the lock only while a function runs, and never across two of them. */
export class BorrowedLock {
  readonly memory = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  /** Wakes the writer, which may be idle. Undefined while there is none: then nobody else in this process writes. */
  #ask: (() => void) | undefined;
  readonly #waiting: (() => void)[] = [];
  #depth = 0;
  #unref: (() => void) | undefined;

  /** From now on the lock is the writer's, which `ask` wakes. */
  writerBegins(ask: () => void): void {
    Atomics.store(this.memory, state, kept);
    this.#ask = ask;
  }

  /** The writer has ended, and lends nothing any more. */
  writerEnded(): void {
    this.#ask = undefined;
    this.#runWaiting();
  }

  /** Runs `work` when the writer has lent its lock; throws what it throws into `work` itself. */
  later(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#ask) return this.#runWaiting();
    // A process that only waits for the lock, as one that stops, must not end meanwhile.
    this.#unref ??= refProcess();
    this.#request(this.#ask);
  }

  /**
   * Runs `work` now, and blocks until the writer has lent its lock: for users' synchronous writes.
   *
   * @throws SQLITE_BUSY when the writer doesn't lend it: another process may have locked the database
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

  /** The writer says that it has lent the lock; `now` may have used it meanwhile, and given it back. */
  wasLent(): void {
    if (this.#depth > 0 || Atomics.load(this.memory, state) !== lent) return;
    this.#runWaiting();
    this.#giveBack();
  }

  /** A waiter may be woken by the notice of an earlier change, so both sides look again after each. */
  #block(ask: () => void): void {
    const deadline = systemClock.elapsed() + maxBlocked;
    while (Atomics.load(this.memory, state) !== lent) {
      const left = deadline - systemClock.elapsed();
      if (left <= 0 && this.#withdraw()) {
        // The request was also that of what waits without blocking.
        if (this.#waiting.length > 0) this.#request(ask);
        throw locked();
      }
      Atomics.wait(this.memory, state, kept, left > 0 ? left : Infinity);
    }
  }

  #request(ask: () => void): void {
    if (Atomics.exchange(this.memory, wanted, 1) === 0) ask();
  }

  /** Takes the request back; false when the writer has seen it, and lends. */
  #withdraw(): boolean {
    return Atomics.exchange(this.memory, wanted, 0) === 1;
  }

  #giveBack(): void {
    Atomics.store(this.memory, wanted, 0);
    Atomics.store(this.memory, state, kept);
    Atomics.notify(this.memory, state);
  }

  /** Runs all waiting work, and what it adds. */
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
 * The writer's side, called between two commits: lends the lock if the app's thread wants it, and blocks until it is
 * given back. `report` reaches an app that waits without blocking.
 */
export function lendIfWanted(memory: Int32Array<SharedArrayBuffer>, report: () => void): void {
  if (Atomics.exchange(memory, wanted, 0) === 0) return;
  Atomics.store(memory, state, lent);
  Atomics.notify(memory, state);
  report();
  while (Atomics.load(memory, state) === lent) Atomics.wait(memory, state, lent);
}
