/**
 * Whose turn it is to write. SQLite lets one connection write at a time, and this process has two: the commit
 * thread's, which writes what arrives, and the main thread's, which writes everything else. Left to SQLite's own lock,
 * the main thread would hardly ever find it free under load. Here whoever waits gets the next turn.
 */

/** Places in the shared memory. */
const owner = 0;
const wanted = 1;

/** Who has the turn. */
const nobody = 0;
const mainThread = 1;
const commitThread = 2;

/** How the main thread waits: for a message, or standing still. */
const byMessage = 1;
const standingStill = 2;

/** What tells the main thread that it has the turn. */
export const turnMessage = 'turn';

/** The memory that both sides share. */
export function sharedTurn(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** The main thread's side. It has the turn only while a function runs, and never across two of them. */
export class MainTurn {
  readonly memory = sharedTurn();
  readonly #waiting: (() => void)[] = [];
  #depth = 0;

  /** Runs `work` in the main thread's next turn: at once when nobody has it. */
  whenMine(work: () => void): void {
    this.#waiting.push(work);
    if (this.#take()) return this.#runWaiting();
    Atomics.or(this.memory, wanted, byMessage);
    // It may have been given back just before that was seen.
    if (this.#take()) this.#runWaiting();
  }

  /** Runs `work` now, and stands still until then: for what users write without waiting for it. */
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

  /** The commit thread has said that it is the main thread's turn; it may have been used up already. */
  granted(): void {
    if (Atomics.load(this.memory, owner) === mainThread && this.#depth === 0) this.#runWaiting();
  }

  /** The commit thread has ended, and can't give the turn back. */
  abandonedByThread(): void {
    if (Atomics.compareExchange(this.memory, owner, commitThread, mainThread) === commitThread)
      this.#runWaiting();
  }

  #take(): boolean {
    return this.#depth === 0 && Atomics.compareExchange(this.memory, owner, nobody, mainThread) === nobody;
  }

  #takeStandingStill(): void {
    while (!this.#take() && Atomics.load(this.memory, owner) !== mainThread) {
      Atomics.or(this.memory, wanted, standingStill);
      if (this.#take()) return;
      Atomics.wait(this.memory, owner, commitThread);
    }
  }

  /** Runs what waits, and whatever that adds, and gives the turn back. */
  #runWaiting(): void {
    this.#depth += 1;
    try {
      for (let work = this.#waiting.shift(); work; work = this.#waiting.shift()) work();
    } finally {
      this.#depth -= 1;
      Atomics.store(this.memory, wanted, 0);
      Atomics.store(this.memory, owner, nobody);
      Atomics.notify(this.memory, owner);
    }
  }
}

/** The commit thread's side. It has no event loop to keep going, so it simply stands still while it waits. */
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

  give(): void {
    if (Atomics.load(this.#memory, wanted) !== 0) return this.#handOver();
    Atomics.store(this.#memory, owner, nobody);
    Atomics.notify(this.#memory, owner);
    // Wanted just before that was seen: nobody else would wake whoever waits for a message.
    if (Atomics.load(this.#memory, wanted) === 0) return;
    if (Atomics.compareExchange(this.#memory, owner, nobody, mainThread) === nobody) this.#handOver();
  }

  #handOver(): void {
    const how = Atomics.exchange(this.#memory, wanted, 0);
    if (how === 0) {
      // Used up meanwhile by a turn that the main thread took by itself.
      Atomics.store(this.#memory, owner, nobody);
      Atomics.notify(this.#memory, owner);
      return;
    }
    Atomics.store(this.#memory, owner, mainThread);
    Atomics.notify(this.#memory, owner);
    if ((how & byMessage) !== 0) this.#tell(turnMessage);
  }
}
