import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';

/** Wakes the dispatcher when the next stored run is due: one timer, however many runs wait. */
export class DueTimer {
  readonly #store: Pick<Store, 'nextDue'>;
  readonly #clock: Clock;
  /**
   * Handlers whose due runs could not be claimed, and when: another process works on their calls, or other runs come
   * first.
   */
  readonly #lookedInVain = new Map<string, number>();
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
    if (count === 0) this.#lookedInVain.set(handler, this.#clock.now());
    else this.#lookedInVain.delete(handler);
  }

  /** Whether the handler has a run that is due now. */
  async isDue(handler: string): Promise<boolean> {
    const dueAt = await this.#store.nextDue(handler);
    return dueAt !== undefined && dueAt <= this.#clock.now();
  }

  /**
   * The same, but of runs that could not be claimed a moment ago, only those count that are due since. To look at the
   * others with every delivery would read all that waits of a large call each time.
   */
  async isDueAnew(handler: string): Promise<boolean> {
    const now = this.#clock.now();
    const since = this.#lookedInVain.get(handler);
    if (since === undefined || now < since || now - since >= this.#pause) return this.isDue(handler);
    const dueAt = await this.#store.nextDue(handler, since);
    return dueAt !== undefined && dueAt <= now;
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
    const isHeld = this.#lookedInVain.has(handler) && (await this.isDue(handler));
    const dueAt = (await this.#store.nextDue(handler, isHeld ? now : undefined)) ?? Infinity;
    return isHeld ? Math.min(dueAt, now + this.#pause) : dueAt;
  }
}
