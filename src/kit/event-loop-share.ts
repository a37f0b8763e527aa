import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers';
import type { Clock } from './clock.ts';

/** How a piece of work shares the event loop. */
interface ShareOptions {
  /** How long it may take in one turn of the event loop, in milliseconds. */
  readonly ofTurn: number;
  /** How long a part of it may wait, in milliseconds; then it runs even beyond the share. */
  readonly maxWait?: number;
}

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
}

/** A queue, such as the runs of one handler. */
interface Line {
  readonly waiting: Waiting[];
  /** How much more time this line has taken than the others, in milliseconds. */
  taken: number;
}

/** The maximum of a line's `taken`, in milliseconds. */
const maxTaken = 100;

/**
 * Bounds the time that a kind of work takes in one turn of the event loop. A turn may bring a delivery on every
 * connection and a run for every event: done in one go, they would stall the app, and each other. Work beyond the share
 * waits for later turns. Of several lines, the one that has taken the least time goes first, so that a handler that
 * computes doesn't hold up the others.
 */
export class EventLoopShare {
  readonly #clock: Clock;
  readonly #ofTurn: number;
  readonly #maxWait: number;
  readonly #lines = new Map<string, Line>();
  /** How many wait in all lines. */
  #waiting = 0;
  /** The line of the work that was begun last, and when that began. */
  #busy: Line | undefined;
  #busySince = 0;
  /** When the share of this turn is used up. */
  #until = 0;
  #isCounting = false;

  constructor(clock: Clock, { ofTurn, maxWait = Infinity }: ShareOptions) {
    this.#clock = clock;
    this.#ofTurn = ofTurn;
    this.#maxWait = maxWait;
  }

  /**
   * Undefined if work may be done now; else resolves when it may. Do it before awaiting anything that takes another
   * turn of the event loop, because only the time until then is counted. `name` is the line to wait in.
   */
  whenFree(name = ''): Promise<void> | undefined {
    const now = this.#clock.elapsed();
    const line = this.#lines.get(name) ?? { waiting: [], taken: 0 };
    this.#lines.set(name, line);
    this.#count(now);
    const mayBegin = this.#waiting === 0 && now < this.#until;
    this.#charge(now, mayBegin ? line : undefined);
    if (mayBegin) return undefined;
    this.#waiting += 1;
    return new Promise((begin) => line.waiting.push({ since: now, begin }));
  }

  /** Begins to count this turn's time, unless that has begun. */
  #count(now: number): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#until = now + this.#ofTurn;
    setImmediate(() => {
      this.#isCounting = false;
      this.#charge(this.#clock.elapsed());
      if (this.#waiting > 0) void this.#beginSome();
    });
  }

  async #beginSome(): Promise<void> {
    this.#count(this.#clock.elapsed());
    let line = this.#next();
    while (line) {
      this.#charge(this.#clock.elapsed(), line);
      line.waiting[0]?.begin();
      // The work is done now, with all its microtasks. Until then it counts as waiting: otherwise something that comes
      // in between could overtake it.
      await new Promise<void>((resolve) => nextTick(resolve));
      line.waiting.shift();
      this.#waiting -= 1;
      this.#charge(this.#clock.elapsed());
      line = this.#nextOfThisTurn();
    }
  }

  #nextOfThisTurn(): Line | undefined {
    const line = this.#next();
    const now = this.#clock.elapsed();
    const since = line?.waiting[0]?.since ?? now;
    return now < this.#until || now - since >= this.#maxWait ? line : undefined;
  }

  /** The waiting line that has taken the least time. All lines' `taken` becomes relative to it. */
  #next(): Line | undefined {
    let next: Line | undefined;
    for (const line of this.#lines.values()) {
      if (line.waiting.length > 0 && (next === undefined || line.taken < next.taken)) next = line;
    }
    const least = next?.taken ?? 0;
    for (const line of this.#lines.values()) {
      line.taken = Math.min(Math.max(line.taken - least, 0), maxTaken);
    }
    return next;
  }

  /** Charges the work that was begun last to its line. `next` is the line of the work that begins now, if any does. */
  #charge(now: number, next?: Line): void {
    if (this.#busy) this.#busy.taken += now - this.#busySince;
    this.#busy = next;
    this.#busySince = now;
  }
}
