import type { Clock } from '../kit/clock.ts';
import type { Store } from '../store/store.ts';
import type { Handler } from './handler.ts';

/** A look for due runs of a handler. */
interface Looking {
  readonly handler: Pick<Handler, 'name' | 'order'>;
  /** Whether runs of calls that have lanes were left out. */
  readonly isCrowded: boolean;
  /** The value of `round` when the look began. */
  readonly round: number;
}

/** Lets the dispatcher look for work when the next stored run is due: one timer, however many runs wait. */
export class DueTimer {
  readonly #store: Pick<Store, 'nextDue'>;
  readonly #clock: Clock;
  /**
   * Handlers whose due runs could not be claimed, and when: another process works on their calls, or other runs come
   * first. `isCrowded`: runs of calls that have lanes here were left out.
   */
  readonly #unclaimable = new Map<string, { readonly at: number; readonly isCrowded: boolean }>();
  /** How long to wait before looking for such runs again, in milliseconds: without a pause this would burn the CPU. */
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

  /** Called when the dispatcher begins to look for work: it will find the runs that are due by now. */
  lookBegins(): void {
    this.#lookedAt = this.#clock.now();
  }

  /** Notes whether any of the handler's due runs could be claimed. */
  noteClaimed({ handler: { name }, isCrowded, round }: Looking, count: number): void {
    // `forgetUnclaimable` was called since: there may be due runs that this look has not seen.
    if (count === 0 && round !== this.#round && !isCrowded) return;
    if (count === 0) this.#unclaimable.set(name, { at: this.#clock.now(), isCrowded });
    else this.#unclaimable.delete(name);
  }

  /**
   * Whether the handler has a run that is due now. If nothing could be claimed a moment ago, only runs that became due
   * since then count: looking at the others with every delivery would read all waiting runs of a large call each time.
   * Not so with order `strict`, where runs that wait for others are not due, and the next may become due at any moment.
   */
  async isDue({ handler: { name, order }, isCrowded }: Looking): Promise<boolean> {
    const before = this.#unclaimable.get(name);
    const now = this.#clock.now();
    const isMomentAgo = before !== undefined && now >= before.at && now - before.at < this.#pause;
    const isAlike = isCrowded || before?.isCrowded === false;
    return this.#hasDue(name, isMomentAgo && isAlike && order !== 'strict' ? before.at : undefined);
  }

  /** Changes with each `forgetUnclaimable`. */
  get round(): number {
    return this.#round;
  }

  /**
   * Call it when there may be new due runs, or when what they wait for was claimed. Handlers with crowded lanes are
   * left out: what is new there is mostly their own requeued runs.
   */
  forgetUnclaimable(): void {
    this.#round += 1;
    for (const [name, { isCrowded }] of this.#unclaimable) if (!isCrowded) this.#unclaimable.delete(name);
  }

  /**
   * Sets the timer for the run of these handlers that is due first. A run may become due while the inbox is asked; then
   * the dispatcher looks again at once.
   */
  async set(handlers: readonly string[], look: () => void): Promise<void> {
    this.#cancel();
    const times: number[] = [];
    for (const handler of handlers) times.push(await this.#nextTime(handler));
    const now = this.#clock.now();
    if (times.some((time) => time > this.#lookedAt && time <= now)) return look();
    const next = Math.min(...times);
    // There was no room for runs that were due at the last look. Looking again without a pause would burn the CPU.
    if (Number.isFinite(next)) this.#cancel = this.#clock.after(Math.max(1, next - now), look);
  }

  cancel(): void {
    this.#cancel();
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
