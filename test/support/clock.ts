import { manualClock } from '../../src/testing/index.ts';
import type { Clock } from './public.ts';

/** The clock of `ringback/testing`, with more methods that only the project's own tests need. */
export class ManualClock implements Clock {
  readonly #clock;
  /** The pending timers: when each is due, by `elapsed`. */
  readonly #due = new Set<{ readonly at: number }>();
  /** Called when a timer is set or time moves on. */
  #waiting: (() => void)[] = [];
  #set = 0;

  /** Starts at the machine's time, so that the timestamps of deliveries signed now are within the tolerance. */
  constructor(start = Date.now()) {
    this.#clock = manualClock(start);
  }

  now = (): number => this.#clock.now() + this.#set;

  elapsed = (): number => this.#clock.elapsed();

  after = (ms: number, action: () => void): (() => void) => {
    const timer = { at: this.elapsed() + ms };
    this.#due.add(timer);
    this.#notify();
    const cancel = this.#clock.after(ms, () => {
      this.#due.delete(timer);
      action();
    });
    // A timer that is due at once must not wait until a test moves time on.
    if (ms <= 0) setImmediate(() => this.advance(0));
    return () => {
      this.#due.delete(timer);
      cancel();
    };
  };

  /** Moves time on, and calls the timers that are due by then, in order. */
  advance(ms: number): void {
    this.#clock.advance(ms);
    this.#notify();
  }

  /** Sets the wall clock forwards or back, as an operator or a time server does. */
  setWallClock(by: number): void {
    this.#set += by;
  }

  /** Resolves once there is a timer that is due exactly this long from now, or so many of them. */
  async timer(ms: number, count = 1): Promise<void> {
    while (this.#countTimers(ms) < count) {
      await this.#change();
      await turn();
    }
  }

  /** Whether there is a timer that is due exactly this long from now. */
  hasTimer(ms: number): boolean {
    return this.#countTimers(ms) > 0;
  }

  #countTimers(ms: number): number {
    return [...this.#due].filter(({ at }) => at === this.elapsed() + ms).length;
  }

  /** For `expect.poll`: moves time on by a tenth of a second before each look. */
  passing<T>(look: () => T): () => T {
    return () => {
      this.advance(100);
      return look();
    };
  }

  /**
   * Moves time on in each turn of the event loop in which there is a timer, until `ending` has settled.
   *
   * @param step by how many milliseconds
   */
  async runUntil(ending: Promise<unknown>, step = 1_000): Promise<void> {
    const running = new AbortController();
    const end = () => {
      running.abort();
      this.#notify();
    };
    ending.then(end, end);
    while (!running.signal.aborted) {
      if (this.#due.size > 0) this.advance(step);
      else await this.#change();
      await turn();
    }
  }

  /** Resolves when a timer is set or time moves on. A busy loop would take CPU from the work that the test waits for. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #notify(): void {
    for (const notify of this.#waiting.splice(0)) notify();
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
