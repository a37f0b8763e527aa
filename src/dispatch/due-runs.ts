import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';
import type { Handler } from './handler.ts';

/**
 * When stored runs are due: whether a handler has one now, and a timer for the next, one for all handlers. Remembers
 * which due runs could not be claimed. `isCrowded` says that runs of calls that have lanes here are left out.
 */
export class DueRuns {
  readonly #store: Pick<Store, 'nextDue'>;
  readonly #clock: Clock;
  /** Handlers whose due runs could not be claimed, and when: another process works on their calls, or others come first. */
  readonly #unclaimable = new Map<string, { readonly at: number; readonly isCrowded: boolean }>();
  /** How long to wait before looking for such runs again, in milliseconds: without a pause this would burn the CPU. */
  readonly #pause: number;
  /** Whether there may be due runs that the present look has not seen. */
  #mayHaveMissed = false;
  /** When the dispatcher last began to look for work. */
  #lookedAt = -Infinity;
  #cancelTimer = () => {};

  constructor(store: Pick<Store, 'nextDue'>, clock: Clock, pause: number) {
    this.#store = store;
    this.#clock = clock;
    this.#pause = pause;
  }

  /** Called when the dispatcher begins to look for work: it will find the runs that are due by now. */
  lookBegins(): void {
    this.#lookedAt = this.#clock.now();
    this.#mayHaveMissed = false;
  }

  /**
   * Whether the handler has a run that is due now. If nothing could be claimed a moment ago, only runs that became due
   * since then count: looking at the others with every delivery would read all waiting runs of a large call each time.
   * Not so with order `strict`, where runs that wait for others are not due, and the next may become due at any moment.
   */
  async isDue({ name, order }: Pick<Handler, 'name' | 'order'>, isCrowded: boolean): Promise<boolean> {
    const before = this.#unclaimable.get(name);
    const now = this.#clock.now();
    const isMomentAgo = before !== undefined && now >= before.at && now - before.at < this.#pause;
    const isAlike = isCrowded || before?.isCrowded === false;
    return this.#hasDue(name, isMomentAgo && isAlike && order !== 'strict' ? before.at : undefined);
  }

  /** Notes how many of the handler's due runs could be claimed. */
  noteClaimed({ name }: Pick<Handler, 'name'>, isCrowded: boolean, count: number): void {
    if (count === 0 && this.#mayHaveMissed && !isCrowded) return;
    if (count === 0) this.#unclaimable.set(name, { at: this.#clock.now(), isCrowded });
    else this.#unclaimable.delete(name);
  }

  /**
   * Call it when there may be new due runs, or when what they wait for was claimed. Handlers with crowded lanes are
   * left out: what is new there is mostly their own requeued runs.
   */
  forgetUnclaimable(): void {
    this.#mayHaveMissed = true;
    for (const [name, { isCrowded }] of this.#unclaimable) if (!isCrowded) this.#unclaimable.delete(name);
  }

  /**
   * Sets the timer for the run of these handlers that is due first. A run may become due while the inbox is asked; then
   * the dispatcher looks again at once.
   */
  async setTimer(handlers: readonly string[], look: () => void): Promise<void> {
    this.#cancelTimer();
    const times: number[] = [];
    for (const handler of handlers) times.push(await this.#nextTime(handler));
    const now = this.#clock.now();
    if (times.some((time) => time > this.#lookedAt && time <= now)) return look();
    const next = Math.min(...times);
    // There was no room for runs that were due at the last look. Looking again without a pause would burn the CPU.
    if (Number.isFinite(next)) this.#cancelTimer = this.#clock.after(Math.max(1, next - now), look);
  }

  cancelTimer(): void {
    this.#cancelTimer();
  }

  /** With `after`, only runs that are due later count. */
  async #hasDue(handler: string, after?: number): Promise<boolean> {
    const dueAt = await this.#store.nextDue(handler, after);
    return dueAt !== undefined && dueAt <= this.#clock.now();
  }

  /** When to look for the handler's runs again. */
  async #nextTime(handler: string): Promise<number> {
    const now = this.#clock.now();
    // Due runs that can't be claimed must not hide the one that is due next.
    const isUnclaimable = this.#unclaimable.has(handler) && (await this.#hasDue(handler));
    const dueAt = (await this.#store.nextDue(handler, isUnclaimable ? now : undefined)) ?? Infinity;
    return isUnclaimable ? Math.min(dueAt, now + this.#pause) : dueAt;
  }
}
