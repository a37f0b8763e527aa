import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';
import type { Handler } from './handler.ts';

/** A look for due runs of a handler. */
interface Looking {
  readonly handler: Pick<Handler, 'name' | 'order'>;
  /** Whether those are left out whose calls have lanes. */
  readonly isCrowded: boolean;
  /** What `round` was as the look began. */
  readonly round: number;
}

/** Wakes the dispatcher when the next stored run is due: one timer, however many runs wait. */
export class DueTimer {
  readonly #store: Pick<Store, 'nextDue'>;
  readonly #clock: Clock;
  /**
   * Handlers whose due runs could not be claimed, and when: another process works on their calls, or other runs come
   * first. `isCrowded`: those were left out whose calls have lanes here.
   */
  readonly #lookedInVain = new Map<string, { readonly at: number; readonly isCrowded: boolean }>();
  /** How long to wait before asking for such runs again, in milliseconds: asking without a pause would burn the CPU. */
  readonly #pause: number;
  #round = 0;
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
  claimed({ handler: { name }, isCrowded, round }: Looking, count: number): void {
    // There may be due runs by now that this look has not seen.
    if (count === 0 && round !== this.#round && !isCrowded) return;
    if (count === 0) this.#lookedInVain.set(name, { at: this.#clock.now(), isCrowded });
    else this.#lookedInVain.delete(name);
  }

  /**
   * Whether the handler has a run that is due now. Of runs that could not be claimed a moment ago, only those count that are due
   * since: to look at the others with every delivery would read all that waits of a large call each time. With order `strict`,
   * the runs that wait for others are not due, and the next may be due at any moment.
   */
  async isDue({ handler: { name, order }, isCrowded }: Looking): Promise<boolean> {
    const inVain = this.#lookedInVain.get(name);
    const now = this.#clock.now();
    const isMomentAgo = inVain !== undefined && now >= inVain.at && now - inVain.at < this.#pause;
    const isAlike = isCrowded || inVain?.isCrowded === false;
    return this.#hasDue(name, isMomentAgo && isAlike && order !== 'strict' ? inVain.at : undefined);
  }

  /** Another number after each `lookAnew`. */
  get round(): number {
    return this.#round;
  }

  /**
   * There may be due runs that were not there a moment ago, or what they wait for was claimed. While lanes are crowded, it is
   * mostly their own runs that are put back.
   */
  lookAnew(): void {
    this.#round += 1;
    for (const [name, { isCrowded }] of this.#lookedInVain) if (!isCrowded) this.#lookedInVain.delete(name);
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

  /** `after`: only runs count that are due later than that. */
  async #hasDue(handler: string, after?: number): Promise<boolean> {
    const dueAt = await this.#store.nextDue(handler, after);
    return dueAt !== undefined && dueAt <= this.#clock.now();
  }

  /** When to look for the handler's runs again. */
  async #nextTime(handler: string): Promise<number> {
    const now = this.#clock.now();
    // Runs that are due and could not be claimed must not hold up the one that is due next.
    const isUnclaimable = this.#lookedInVain.has(handler) && (await this.#hasDue(handler));
    const dueAt = (await this.#store.nextDue(handler, isUnclaimable ? now : undefined)) ?? Infinity;
    return isUnclaimable ? Math.min(dueAt, now + this.#pause) : dueAt;
  }
}
