/**
 * Whose turn it is to write. SQLite lets one connection write at a time, and this process has two: the commit
 * thread's, which writes what arrives, and the main thread's, which writes everything else. Left to SQLite's own lock,
 * the main thread would hardly ever find it free under load. Here whoever waits gets the next turn.
 */
import { holdProcess } from '../../../kit/clock.ts';

/** Places in the shared memory. */
const owner = 0;
const wanted = 1;

/** Who has the turn. */
const nobody = 0;
const mainThread = 1;
const commitThread = 2;

/** How the main thread waits: for a message, or blocking. */
const byMessage = 1;
const standingStill = 2;

/**
 * How long the main thread is blocked at the most, in milliseconds: meanwhile nobody can tell it that the commit
 * thread has ended.
 */
const maxStand = 2_000;

/** The message that tells the main thread that it has the turn. */
export const turnMessage = 'turn';

/** The memory that both sides share. */
function sharedTurn(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** The main thread's side. It has the turn only while a function runs, and never across two of them. */
export class MainTurn {
  readonly memory = sharedTurn();
  readonly #waiting: (() => void)[] = [];
  #depth = 0;
  #letGo: (() => void) | undefined;

  /** Runs `work` in the main thread's next turn: at once when nobody has it. */
  whenMine(work: () => void): void {
    this.#waiting.push(work);
    if (this.#take()) return this.#runWaiting();
    Atomics.or(this.memory, wanted, byMessage);
    // The turn may have been given back just before the commit thread could see that it is wanted.
    if (this.#take()) return this.#runWaiting();
    // The commit thread holds no process when it has nothing to write. Without this, a process that only waits for the
    // turn, as one that stops, would end, and the work with it.
    this.#letGo ??= holdProcess();
  }

  /**
   * Runs `work` now, and is blocked until it is this thread's turn: for users' synchronous writes.
   *
   * @throws SQLITE_BUSY when the commit thread doesn't give the turn back: it may have ended
   */
  now<T>(work: () => T): T {
    if (this.#depth === 0) this.#takeStandingStill();
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
      if (this.#depth === 0) this.#runWaiting();
    }
  }

  /** The commit thread has said that it is the main thread's turn; that turn may have been used up already. */
  granted(): void {
    if (this.#isMine() && this.#depth === 0) this.#runWaiting();
  }

  /** The commit thread has ended, and can't give the turn back, nor say that it has. */
  abandonedByThread(): void {
    Atomics.compareExchange(this.memory, owner, commitThread, mainThread);
    this.granted();
  }

  #take(): boolean {
    return this.#depth === 0 && Atomics.compareExchange(this.memory, owner, nobody, mainThread) === nobody;
  }

  #takeStandingStill(): void {
    while (!this.#take() && !this.#isMine()) {
      Atomics.or(this.memory, wanted, standingStill);
      if (this.#take()) return;
      const waited = Atomics.wait(this.memory, owner, commitThread, maxStand);
      if (waited === 'timed-out' && this.#withdraw()) throw locked();
    }
  }

  #isMine(): boolean {
    return Atomics.load(this.memory, owner) === mainThread;
  }

  /**
   * Takes back the request of a main thread that is blocked; false when the commit thread has seen it, and hands
   * over.
   */
  #withdraw(): boolean {
    return (Atomics.and(this.memory, wanted, ~standingStill) & standingStill) !== 0;
  }

  /** Runs all waiting work, and what it adds, and gives the turn back. */
  #runWaiting(): void {
    this.#depth += 1;
    try {
      for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) work();
    } finally {
      this.#depth -= 1;
      this.#letGo?.();
      this.#letGo = undefined;
      Atomics.store(this.memory, wanted, 0);
      Atomics.store(this.memory, owner, nobody);
      Atomics.notify(this.memory, owner);
    }
  }
}

function locked(): Error {
  return Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
}

/** The commit thread's side. It has no event loop to keep going, so it is blocked while it waits. */
export class ThreadTurn {
  readonly #memory: Int32Array<SharedArrayBuffer>;
  readonly #tell: (message: typeof turnMessage) => void;

  constructor(memory: Int32Array<SharedArrayBuffer>, tell: (message: typeof turnMessage) => void) {
    this.#memory = memory;
    this.#tell = tell;
  }

  take(): void {
    while (Atomics.compareExchange(this.#memory, owner, nobody, commitThread) !== nobody) {
      Atomics.wait(this.#memory, owner, mainThread);
    }
  }

  /** Hands the turn over to the main thread if that waits; otherwise whichever thread comes first may take it. */
  give(): void {
    do {
      if (this.#handOver()) return;
      Atomics.store(this.#memory, owner, nobody);
      Atomics.notify(this.#memory, owner);
      if (Atomics.load(this.#memory, wanted) === 0) return;
      // The main thread wanted the turn just before it could see that nobody has it. Only the thread that has the
      // turn may hand it over, so this one takes it again first: the main thread could meanwhile have taken it, used
      // it up and taken it again, and both would write.
    } while (Atomics.compareExchange(this.#memory, owner, nobody, commitThread) === nobody);
  }

  #handOver(): boolean {
    const how = Atomics.exchange(this.#memory, wanted, 0);
    if (how === 0) return false;
    Atomics.store(this.#memory, owner, mainThread);
    Atomics.notify(this.#memory, owner);
    if ((how & byMessage) !== 0) this.#tell(turnMessage);
    return true;
  }
}
