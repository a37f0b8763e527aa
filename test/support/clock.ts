import type { Clock } from './public.ts';

interface Timer {
  readonly at: number;
  readonly action: () => void;
}

/** Time that a test moves by hand. The wall clock and the measuring clock go together, until the wall clock is set. */
export class ManualClock implements Clock {
  #now: number;
  #set = 0;
  #timers: Timer[] = [];

  /** Starts at the machine's time, so that what is signed now is in time. */
  constructor(start = Date.now()) {
    this.#now = start;
  }

  now = (): number => this.#now + this.#set;

  elapsed = (): number => this.#now;

  after = (ms: number, action: () => void): (() => void) => {
    const timer = { at: this.#now + ms, action };
    // What is due at once shall not wait for a test to move time.
    if (ms <= 0) setImmediate(() => this.#fire(timer));
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };

  /** Moves time on, and calls what is due by then, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      this.#fire(next);
    }
    this.#now = end;
  }

  /** Sets the wall clock forwards or back, as an operator or a time server does. */
  setWallClock(by: number): void {
    this.#set += by;
  }

  /** Resolves when something waits for exactly this long from now. */
  async timer(ms: number): Promise<void> {
    while (!this.#timers.some((timer) => timer.at === this.#now + ms)) await turn();
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

  #next(end: number): Timer | undefined {
    return this.#timers.filter((timer) => timer.at <= end).toSorted((one, other) => one.at - other.at)[0];
  }

  #fire(timer: Timer): void {
    if (!this.#timers.includes(timer)) return;
    this.#timers = this.#timers.filter((other) => other !== timer);
    timer.action();
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
