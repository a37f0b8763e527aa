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
  #cancel = () => {};

  constructor(store: Pick<Store, 'nextDue'>, clock: Clock, pause: number) {
    this.#store = store;
    this.#clock = clock;
    this.#pause = pause;
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

  /** Sets the timer for the run of these handlers that is due first. */
  async set(handlers: readonly string[], wake: () => void): Promise<void> {
    this.#cancel();
    const waits: number[] = [];
    for (const handler of handlers) waits.push(await this.#until(handler));
    const wait = Math.min(...waits);
    if (Number.isFinite(wait)) this.#cancel = this.#clock.after(wait, wake);
  }

  cancel(): void {
    this.#cancel();
  }

  async #until(handler: string): Promise<number> {
    const now = this.#clock.now();
    // Runs that are due and could not be claimed must not hold up the one that is due next.
    const isHeld = this.#heldElsewhere.has(handler) && (await this.isDue(handler));
    const dueAt = await this.#store.nextDue(handler, isHeld ? now : undefined);
    const wait = dueAt === undefined ? Infinity : Math.max(1, dueAt - now);
    return isHeld ? Math.min(wait, this.#pause) : wait;
  }
}
