import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';

/** Wakes the dispatcher when the next stored run is due: one timer, however many runs wait. */
export class DueTimer {
  readonly #store: Pick<Store, 'nextDue'>;
  readonly #clock: Clock;
  /** Handlers whose due runs could not be claimed: another process works on their calls, or other runs come first. */
  readonly #heldElsewhere = new Set<string>();
  /** How long to wait before asking for such runs again, in milliseconds: asking without a pause would burn the CPU. */
  readonly #pause: number;
  /** When the dispatcher last began to look for work. */
  #lookedAt = -Infinity;
  #cancel = () => {};

  constructor(store: Pick<Store, 'nextDue'>, clock: Clock, pause: number) {
    this.#store = store;
    this.#clock = clock;
    this.#pause = pause;
  }

  /** Notes that the dispatcher begins to look for work: a run that is due by now is found by this look. */
  looking(): void {
    this.#lookedAt = this.#clock.now();
  }

  /** Notes whether any of the handler's due runs could be claimed. */
  claimed(handler: string, count: number): void {
    if (count === 0) this.#heldElsewhere.add(handler);
    else this.#heldElsewhere.delete(handler);
  }

  /** Whether the handler has a run that is due now. */
  async isDue(handler: string): Promise<boolean> {
    const dueAt = await this.#store.nextDue(handler);
    return dueAt !== undefined && dueAt <= this.#clock.now();
  }

  /**
   * Sets the timer for the run of these handlers that is due first. Time may pass while the inbox is asked, so a run may
   * be due by then that was not when the dispatcher looked: then it is woken at once.
   */
  async set(handlers: readonly string[], wake: () => void): Promise<void> {
    this.#cancel();
    const times: number[] = [];
    for (const handler of handlers) times.push(await this.#nextTime(handler));
    const now = this.#clock.now();
    if (times.some((time) => time > this.#lookedAt && time <= now)) return wake();
    const next = Math.min(...times);
    // What was due at the look could not be taken up for want of room: looking again without a pause would burn the CPU.
    if (Number.isFinite(next)) this.#cancel = this.#clock.after(Math.max(1, next - now), wake);
  }

  cancel(): void {
    this.#cancel();
  }

  /** When to look for the handler's runs again. */
  async #nextTime(handler: string): Promise<number> {
    const now = this.#clock.now();
    // Runs that are due and could not be claimed must not hold up the one that is due next.
    const isHeld = this.#heldElsewhere.has(handler) && (await this.isDue(handler));
    const dueAt = (await this.#store.nextDue(handler, isHeld ? now : undefined)) ?? Infinity;
    return isHeld ? Math.min(dueAt, now + this.#pause) : dueAt;
  }
}
