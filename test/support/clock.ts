import { manualClock } from '../../src/testing/index.ts';
import type { Clock } from './public.ts';

/** The clock of `ringback/testing`, with what the project's own tests need besides. */
export class ManualClock implements Clock {
  readonly #clock;
  /** What is waited for: when it is due, by the measuring clock. */
  readonly #due = new Set<{ readonly at: number }>();
  #set = 0;

  /** Starts at the machine's time, so that what is signed now is in time. */
  constructor(start = Date.now()) {
    this.#clock = manualClock(start);
  }

  now = (): number => this.#clock.now() + this.#set;

  elapsed = (): number => this.#clock.elapsed();

  after = (ms: number, action: () => void): (() => void) => {
    const timer = { at: this.elapsed() + ms };
    this.#due.add(timer);
    const cancel = this.#clock.after(ms, () => {
      this.#due.delete(timer);
      action();
    });
    // What is due at once shall not wait for a test to move time.
    if (ms <= 0) setImmediate(() => this.advance(0));
    return () => {
      this.#due.delete(timer);
      cancel();
    };
  };

  /** Moves time on, and calls what is due by then, in order. */
  advance(ms: number): void {
    this.#clock.advance(ms);
  }

  /** Sets the wall clock forwards or back, as an operator or a time server does. */
  setWallClock(by: number): void {
    this.#set += by;
  }

  /** Resolves when something waits for exactly this long from now. */
  async timer(ms: number): Promise<void> {
    while (![...this.#due].some(({ at }) => at === this.elapsed() + ms)) await turn();
  }

  /** Moves time on, a second a turn of the event loop, until something has ended. */
  async runUntil(ending: Promise<unknown>): Promise<void> {
    const running = new AbortController();
    const end = () => running.abort();
    ending.then(end, end);
    while (!running.signal.aborted) {
      this.advance(1_000);
      await turn();
    }
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
