import type { Clock } from '../kit/clock.ts';
import type { ClaimedEvent } from '../store/claims.ts';
import type { Store } from '../store/store.ts';
import type { DueTimer } from './due-timer.ts';
import type { ClaimedWork } from './execution.ts';
import type { Held } from './held.ts';
import type { Lanes } from './lanes.ts';
import type { Placer } from './placer.ts';

/** Nothing is claimed while the bodies in hand are larger: a backlog of large ones must not fill the memory. */
const maxHeldBytes = 32 * 1024 * 1024;

/** The most events or runs claimed in one step: they are read in that step, while deliveries wait. */
const maxClaimed = 250;

/** What the claimer works with. */
export interface ClaimerParts {
  readonly store: Pick<Store, 'claimEvents' | 'claimRuns'>;
  readonly clock: Clock;
  readonly dueTimer: DueTimer;
  /** The lanes of every handler. */
  readonly lanes: readonly Lanes<ClaimedWork>[];
  readonly held: Held;
  readonly placer: Placer;
}

/** Claims from the inbox what there is room for: runs that are due, then new events. */
export class Claimer {
  readonly #parts: ClaimerParts;
  /** Whether the inbox may hold more than was claimed. */
  #mayBeMore = false;
  /** Lanes that were crowded when their due runs were claimed, so that some may have been left. */
  readonly #leftForCrowded = new Set<Lanes<ClaimedWork>>();
  /** How many events are being recorded that may be handed over: each may need a place in every handler's lanes. */
  #expected = 0;

  constructor(parts: ClaimerParts) {
    this.#parts = parts;
  }

  /** Reserves a place for an event that is about to be recorded; false when there is none. */
  keepPlace(): boolean {
    const { lanes, held, placer } = this.#parts;
    const room = Math.min(...lanes.map((one) => one.room)) - placer.unplaced;
    if (lanes.length === 0 || this.#expected >= room || held.bytes > maxHeldBytes / 2) return false;
    this.#expected += 1;
    return true;
  }

  freePlace(): void {
    this.#expected -= 1;
  }

  /**
   * Claims the due runs of every handler and then new events, one step of each, and places them. Resolves to whether
   * to claim again at once. Rejects when the inbox can't be reached.
   */
  async claim(): Promise<boolean> {
    const { placer, lanes, dueTimer } = this.#parts;
    await placer.putAllBack();
    dueTimer.looking();
    for (const one of lanes) await this.#claimDue(one);
    await placer.putAllBack();
    return this.#claimNew();
  }

  /**
   * Whether runs were left in the inbox because these lanes were crowded, and now they no longer are. Without another
   * look, the rest of a large call would wait for the timer, over and over.
   */
  isNoLongerCrowded(lanes: Lanes<ClaimedWork>): boolean {
    return this.#leftForCrowded.has(lanes) && !lanes.isCrowded;
  }

  /** Whether there may be more, and room for a large step: claiming events singly would cost a commit for each. */
  get mayGoOn(): boolean {
    return this.#mayBeMore && this.#hasRoom();
  }

  /**
   * Sets the timer for the run that is due next. A handler whose lanes are more than half full is left out: it is
   * looked at again when enough of its runs have finished.
   */
  async setTimer(wake: () => void): Promise<void> {
    const { lanes, dueTimer } = this.#parts;
    const open = this.#hasRoom() ? lanes.filter(({ isHalfEmpty }) => isHalfEmpty) : [];
    const waiting = open.map(({ handler }) => handler.name);
    this.#mayBeMore ||= waiting.length < lanes.length;
    await dueTimer.set(waiting, wake);
  }

  cancelTimer(): void {
    this.#parts.dueTimer.cancel();
  }

  async #claimDue(lanes: Lanes<ClaimedWork>): Promise<void> {
    const { store, clock, dueTimer, held, placer } = this.#parts;
    const { handler, isCrowded } = lanes;
    const room = this.#roomIn(lanes);
    if (isCrowded) this.#leftForCrowded.add(lanes);
    else this.#leftForCrowded.delete(lanes);
    if (room === 0 || held.bytes > maxHeldBytes) return;
    // With order `strict`, the runs that wait behind others are not due, and the next may be due at any moment.
    const isRest = isCrowded && handler.order !== 'strict';
    const isDue = isRest ? await dueTimer.isDueAnew(handler.name) : await dueTimer.isDue(handler.name);
    if (!isDue) return;
    const order = {
      isStrict: handler.order === 'strict',
      without: isCrowded ? lanes.calls : [],
      isOneACall: isCrowded,
    };
    const claimed = await store.claimRuns(handler.name, room, clock.now(), order);
    dueTimer.claimed(handler.name, claimed.length);
    for (const stored of claimed) placer.takeUp(lanes, stored);
  }

  async #claimNew(): Promise<boolean> {
    const { lanes, held } = this.#parts;
    // Without a handler, nothing is claimed: a program that only looks into the inbox must not take events from the
    // process that has the handlers.
    const limit = Math.max(0, ...lanes.map((one) => this.#roomIn(one)));
    if (limit === 0 || held.bytes > maxHeldBytes) {
      this.#mayBeMore = true;
      return false;
    }
    this.#mayBeMore = (await this.#claimEvents(limit)).length > 0;
    return this.mayGoOn;
  }

  async #claimEvents(limit: number): Promise<readonly ClaimedEvent[]> {
    const { store, placer } = this.#parts;
    let isHandedOver = false;
    const handOver = (claimed: readonly ClaimedEvent[]): void => {
      isHandedOver = true;
      placer.take(claimed);
    };
    try {
      const claimed = await store.claimEvents(limit, handOver);
      // A user's own store may only return the events, without calling `handOver`.
      if (!isHandedOver) placer.take(claimed);
      return claimed;
    } finally {
      placer.placeTaken();
    }
  }

  /**
   * How many events or runs may be claimed for these lanes, with places left for events that are yet to be read or may be
   * handed over.
   */
  #roomIn(lanes: Lanes<ClaimedWork>): number {
    return Math.min(maxClaimed, Math.max(0, lanes.room - this.#expected - this.#parts.placer.unplaced));
  }

  #hasRoom(): boolean {
    const { held, lanes } = this.#parts;
    return held.bytes <= maxHeldBytes / 2 && lanes.some((one) => one.isHalfEmpty);
  }
}
