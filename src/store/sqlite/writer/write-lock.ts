/**
 * The write lock of one process. SQLite lets one connection write at a time. The writer thread makes all writes of this
 * process except users' own, in `ctx.commit` and through `receiver.database`, which must run on the app's thread. For
 * these the writer grants its lock between two commits: under load, the app's thread would hardly ever find SQLite's own
 * lock free.
 */
import { refProcess, systemClock } from '../../../kit/clock.ts';
import { isDiskFailure } from '../connection/connection.ts';

/** Indices in the shared memory. */
const state = 0;
/** Not 0 while the app's thread requests the lock. */
export const requested = 1;
const diskFailed = 2;

/** States. */
const kept = 0;
const granted = 1;
/** Nothing may be written: see `WriterThread.#failClosed`. */
const refused = 2;

/** How long the app's thread is blocked at most, in milliseconds: the writer thread may have ended. */
const maxBlocked = 2_000;

/** Work for which the app's thread needs the lock. If that is refused, it must write nothing. */
export type LockedWork = (isRefused: boolean) => void;

/** The app's side. It has the lock only while functions run, and gives it back before it returns to the event loop. */
export class BorrowedLock {
  readonly memory = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
  /** Wakes the writer, which may be idle. Undefined if there is no writer, so that nobody else in this process writes. */
  #ask: (() => void) | undefined;
  readonly #waiting: LockedWork[] = [];
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
    this.#runWaiting(false);
  }

  /** Runs `work` when the writer has granted or refused its lock. `work` must not throw. */
  later(work: LockedWork): void {
    this.#waiting.push(work);
    if (!this.#ask) return this.#runWaiting(false);
    // A process that waits for nothing but the lock, for example while it stops, must not end.
    this.#unref ??= refProcess();
    this.#request(this.#ask);
  }

  /**
   * Blocks until the writer has granted its lock, and runs `work`: for users' synchronous writes.
   *
   * @throws SQLITE_BUSY if the writer doesn't grant it: another process may have locked the database. SQLITE_IOERR if
   * the writer refuses it, because the disk has failed
   */
  now<T>(work: () => T): T {
    if (this.#depth > 0 || !this.#ask) return this.#noticingFailure(work);
    this.#request(this.#ask);
    const isRefused = this.#block(this.#ask) === refused;
    this.#depth += 1;
    try {
      if (isRefused) throw diskRefuses();
      return this.#noticingFailure(work);
    } finally {
      this.#depth -= 1;
      this.#runWaiting(isRefused);
      this.#giveBack();
    }
  }

  /** Has the writer fail closed, too, if the disk fails in a user's write. */
  #noticingFailure<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (isDiskFailure(error)) Atomics.store(this.memory, diskFailed, 1);
      throw error;
    }
  }

  /** Call when the writer reports that it has answered. `now` may already have used the lock and given it back. */
  onAnswered(): void {
    const answer = Atomics.load(this.memory, state);
    if (this.#depth > 0 || answer === kept) return;
    this.#runWaiting(answer === refused);
    this.#giveBack();
  }

  /**
   * Blocks until the lock is granted or refused, and returns which. A waiter may be woken by an earlier change, so both
   * sides check the state again.
   */
  #block(ask: () => void): number {
    const deadline = systemClock.elapsed() + maxBlocked;
    let answer = Atomics.load(this.memory, state);
    for (; answer === kept; answer = Atomics.load(this.memory, state)) {
      const left = deadline - systemClock.elapsed();
      if (left <= 0 && this.#withdraw()) {
        // The withdrawn request was also for the work that waits without blocking.
        if (this.#waiting.length > 0) this.#request(ask);
        throw locked();
      }
      Atomics.wait(this.memory, state, kept, left > 0 ? left : Infinity);
    }
    return answer;
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
  #runWaiting(isRefused: boolean): void {
    this.#depth += 1;
    try {
      for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) work(isRefused);
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

function diskRefuses(): Error {
  const message = 'the disk has failed, and the database has yet to be opened anew';
  return Object.assign(new Error(message), { code: 'SQLITE_IOERR' });
}

/**
 * The writer's side, called between two commits: if the app's thread has requested the lock, grants it, and blocks until
 * it is given back; or refuses it, if `mayWrite` says so. `report` wakes an app that waits without blocking. Returns
 * whether the disk has failed in a write of the app's thread.
 */
export function answerRequest(
  memory: Int32Array<SharedArrayBuffer>,
  mayWrite: () => boolean,
  report: () => void,
): boolean {
  if (Atomics.load(memory, requested) === 0) return false;
  // Before the request is taken, because it may take long on a failing disk: until then the app can withdraw it.
  const answer = mayWrite() ? granted : refused;
  if (Atomics.exchange(memory, requested, 0) === 0) return false;
  Atomics.store(memory, state, answer);
  Atomics.notify(memory, state);
  report();
  while (Atomics.load(memory, state) === granted) Atomics.wait(memory, state, granted);
  return Atomics.exchange(memory, diskFailed, 0) === 1;
}
