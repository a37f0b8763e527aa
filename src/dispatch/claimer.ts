import type { Clock } from '../kit/clock.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Store } from '../store/store.ts';
import { heartbeatInterval, storePause } from '../store/timeouts.ts';
import { DueRuns } from './due-runs.ts';
import type { HandlerLanes } from './lanes.ts';
import type { Loop } from './in-flight.ts';
import type { Placer } from './placer.ts';
import type { Registry } from './registry.ts';

/**
 * The most events or runs claimed in one step. On a slow disk the commit of a step takes long: with fewer, a backlog
 * would shrink more slowly than events come. With more, deliveries would wait while these are read.
 */
const maxClaimed = 500;

interface ClaimerParts {
  readonly store: Pick<Store, 'claimEvents' | 'claimRuns' | 'nextDue'>;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly placer: Placer;
  readonly telemetry: Telemetry;
  readonly loop: Loop;
}

/**
 * Claims as much from the inbox as there is room for: runs that are due, then new events. These and the events that are
 * claimed as they are recorded are placed in the order of the claims (see the store's `record`). So nothing is awaited
 * between a claim and `afterAnswers`.
 */
export class Claimer {
  readonly #parts: ClaimerParts;
  readonly #dueRuns: DueRuns;
  /** Whether the inbox may hold more than was claimed. */
  #mayBeMore = false;
  /** Lanes that were crowded when their due runs were claimed, so that some may be left in the inbox. */
  readonly #leftForCrowded = new Set<HandlerLanes>();
  /** Lanes that the timer leaves out, because they are more than half full. */
  #leftOut: ReadonlySet<HandlerLanes> = new Set();
  /** For how many events that are being recorded room is reserved: each may need it in every handler's lanes. */
  #reserved = 0;
  #isRunning = false;
  #isLooking = false;
  #mustLookAgain = false;

  constructor(parts: ClaimerParts) {
    this.#parts = parts;
    this.#dueRuns = new DueRuns(parts.store, parts.clock, heartbeatInterval);
  }

  start(): void {
    this.#isRunning = true;
    this.look();
  }

  /** From now on nothing is claimed. */
  stop(): void {
    this.#isRunning = false;
    this.#dueRuns.cancelTimer();
  }

  /** Looks for work, until nothing is found or there is no room. */
  look(): void {
    this.#mustLookAgain = true;
    if (this.#isLooking || !this.#isRunning) return;
    this.#isLooking = true;
    this.#parts.loop.inFlight.track(this.#lookUntilDone());
  }

  /** Looks for work, also for runs that could not be claimed a moment ago. Called when there may be new due runs. */
  wake(): void {
    this.#dueRuns.forgetUnclaimable();
    this.look();
  }

  /** Reserves room in every handler's lanes for an event that is about to be recorded; false if there is none. */
  reserveRoom(): boolean {
    const { placer, registry } = this.#parts;
    if (!this.#isRunning) return false;
    const runs = this.#reserved + placer.unplaced + 1;
    if (registry.lanes.length === 0 || !registry.lanes.every((lanes) => lanes.hasRoom(runs))) return false;
    this.#reserved += 1;
    return true;
  }

  /** Gives reserved room back: the event is being placed, or need not be. */
  releaseRoom(): void {
    this.#reserved -= 1;
  }

  /**
   * Whether to claim again: there may be more work, and there is room for a large step, because claiming events singly
   * would cost a commit for each. Or runs were left in the inbox because these lanes were crowded or half full, and they
   * no longer are: the rest of a large call would otherwise wait for the timer, over and over.
   */
  mayClaimMore(lanes?: HandlerLanes): boolean {
    if (lanes && this.#leftForCrowded.has(lanes) && !lanes.isCrowded) return true;
    if (lanes && this.#leftOut.has(lanes) && lanes.isHalfEmpty) return true;
    return this.#mayBeMore && this.#hasRoom();
  }

  async #lookUntilDone(): Promise<void> {
    const { clock, telemetry } = this.#parts;
    try {
      while (this.#mustLookAgain && this.#isRunning) {
        this.#mustLookAgain = false;
        if (await this.#claim()) this.#mustLookAgain = true;
      }
      await this.#setTimer();
      if (!this.#isRunning) this.#dueRuns.cancelTimer();
    } catch (error) {
      telemetry.report('dispatch_failed', { cause: messageOf(error) });
      clock.after(storePause, () => this.look());
    } finally {
      this.#isLooking = false;
    }
    // Woken since the loop ended: nobody else would look again.
    if (this.#mustLookAgain) this.look();
  }

  /**
   * Claims the due runs of every handler and then new events, one step of each, and places them. Resolves to whether to
   * claim again at once. Rejects if the inbox can't be reached.
   */
  async #claim(): Promise<boolean> {
    const { placer } = this.#parts;
    await placer.requeued();
    this.#dueRuns.lookBegins();
    for (const lanes of this.#unpaused) await this.#claimDue(lanes);
    await placer.requeued();
    return this.#claimNew();
  }

  /**
   * Sets the timer, which looks again when the next run is due. Handlers whose lanes are more than half full are left
   * out: their runs are claimed when enough of those have finished. Otherwise, with one that hangs, the end of each run of
   * the others would look in vain.
   */
  async #setTimer(): Promise<void> {
    const hasRoom = this.#parts.placer.hasRoom(1 / 2);
    if (!hasRoom) this.#mayBeMore = true;
    const open = this.#unpaused.filter(({ isHalfEmpty }) => hasRoom && isHalfEmpty);
    this.#leftOut = new Set(this.#unpaused.filter((lanes) => !open.includes(lanes)));
    const waiting = open.map(({ handler }) => handler.name);
    await this.#dueRuns.setTimer(waiting, () => this.look());
  }

  async #claimDue(lanes: HandlerLanes): Promise<void> {
    const { store, clock, placer } = this.#parts;
    const { handler, isCrowded } = lanes;
    const room = this.#roomIn(lanes);
    if (isCrowded) this.#leftForCrowded.add(lanes);
    else this.#leftForCrowded.delete(lanes);
    if (room === 0 || !placer.hasRoom()) return;
    if (!(await this.#dueRuns.isDue(handler, isCrowded))) return;
    const claimed = await store.claimRuns(handler, {
      limit: room,
      bytes: lanes.freeBytes,
      now: clock.now(),
      without: isCrowded ? lanes.calls : [],
      isOneACall: isCrowded,
    });
    this.#dueRuns.noteClaimed(handler, isCrowded, claimed.length);
    await placer.afterAnswers(...claimed.map((run) => () => placer.placeRun(lanes, run)));
  }

  async #claimNew(): Promise<boolean> {
    // Without handlers nothing is claimed: a program that only looks into the inbox must not take events from the
    // process that has the handlers.
    const { store, placer, registry } = this.#parts;
    const limit = Math.max(0, ...registry.lanes.map((one) => this.#roomIn(one)));
    if (limit === 0 || !placer.hasRoom()) {
      this.#mayBeMore = true;
      return false;
    }
    const claimed = await store.claimEvents(limit);
    await placer.afterAnswers(...claimed.map((event) => () => placer.placeEvent(event)));
    this.#mayBeMore = claimed.length > 0;
    // Runs that wait for these events may now be claimed.
    if (this.#mayBeMore) this.#dueRuns.forgetUnclaimable();
    return this.mayClaimMore();
  }

  /**
   * How many events or runs may be claimed for these lanes. Room is left for events that are being recorded, or are
   * claimed and not placed yet.
   */
  #roomIn(lanes: HandlerLanes): number {
    return Math.min(maxClaimed, Math.max(0, lanes.room - this.#reserved - this.#parts.placer.unplaced));
  }

  #hasRoom(): boolean {
    const { placer, registry } = this.#parts;
    return placer.hasRoom(1 / 2) && registry.lanes.some((one) => one.isHalfEmpty);
  }

  /** The lanes of handlers that are not paused. Due runs of paused handlers stay in the inbox. */
  get #unpaused(): readonly HandlerLanes[] {
    return this.#parts.registry.lanes.filter(({ isPaused }) => !isPaused);
  }
}
