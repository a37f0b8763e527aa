import { setMaxListeners } from 'node:events';
import { messageOf } from '../kit/thrown.ts';
import type { Handler } from '../handling.ts';
import type { CallEvent } from '../model.ts';
import type { ClaimedEvent } from '../store/store.ts';
import { storePause } from '../store/store-pause.ts';
import { DueTimer } from './due-timer.ts';
import { type ClaimedWork, Execution, type ExecutionParts } from './execution.ts';
import { Held } from './held.ts';
import { Lanes } from './lanes.ts';
import { lookBack } from './look-back.ts';
import { Placing } from './placing.ts';
import { Pulse, pulseInterval } from './pulse.ts';
import { Settlements } from './settlements.ts';
import { UnderWay } from './under-way.ts';

/** The bodies in hand at the most: a backlog of large ones must not take the process's memory. */
const mostHeldBytes = 32 * 1024 * 1024;

/** What is claimed in one step at the most: it is read there and then, while deliveries wait. */
const mostClaimed = 250;

/** What the dispatcher works with. */
export interface DispatcherParts extends Omit<ExecutionParts, 'stop'> {
  readonly handlers: readonly Handler[];
  readonly fallback: Handler | undefined;
}

/** Takes events from the inbox to the handlers: claim → route → run → settle. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #execution: Execution;
  readonly #lanes: ReadonlyMap<string, Lanes<ClaimedWork>>;
  readonly #underWay: UnderWay;
  readonly #pulse: Pulse;
  readonly #dueTimer: DueTimer;
  readonly #stop = new AbortController();
  #isStopping = false;
  #isPumping = false;
  #isWanted = false;
  /** The lanes in the order in which they are looked at. */
  #inTurn: readonly Lanes<ClaimedWork>[];
  /** The active run over which a process may have died. */
  #suspect: ClaimedWork | undefined;
  /** Whether the inbox may hold more than was claimed. */
  #mayBeMore = false;
  readonly #held = new Held();
  readonly #placing: Placing;
  /** Whether a claim has failed, which may have been written all the same. */
  #isClaimUncertain = false;
  /** Events that are being recorded and may be handed over: each may need a place in every handler's lanes. */
  #expected = 0;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    // Every active run listens for the stop.
    setMaxListeners(0, this.#stop.signal);
    const settlements = new Settlements({ ...parts, stop: this.#stop.signal });
    this.#execution = new Execution({ ...parts, stop: this.#stop.signal }, settlements);
    const all = parts.fallback ? [...parts.handlers, parts.fallback] : parts.handlers;
    this.#lanes = new Map(all.map((handler) => [handler.name, new Lanes(handler, callOf)]));
    this.#inTurn = [...this.#lanes.values()];
    const { store, telemetry, clock } = parts;
    this.#underWay = new UnderWay(telemetry);
    const follow = (work: Promise<unknown>) => this.#underWay.follow(work);
    const ties = { follow, wake: () => this.wake() };
    const places = { settlements, lanes: this.#lanes, held: this.#held };
    this.#placing = new Placing({ ...parts, ...places, ...ties });
    this.#pulse = new Pulse({ store, telemetry, clock, follow, onWork: () => this.wake() });
    this.#dueTimer = new DueTimer(store, clock, pulseInterval);
  }

  /** Takes over what dead processes held, says what waits for nobody, and begins. */
  async start(): Promise<void> {
    const { store, telemetry } = this.#parts;
    await this.#pulse.start();
    for (const { handler } of this.#lanes.values())
      await store.unblock(handler.name, handler.order === 'strict');
    for (const handler of await store.waitingHandlers()) {
      if (!this.#lanes.has(handler)) telemetry.tell('handler_missing', { handler });
    }
    if (this.#lanes.size === 0) telemetry.tell('no_handlers');
    this.#lookBack();
    this.wake();
  }

  /** Looks for work. Called when an event was recorded, a run is due, or places have become free. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isPumping || this.#isStopping) return;
    this.#isPumping = true;
    this.#follow(this.#pump());
  }

  /** Looks for work, and for what was claimed although that failed. */
  wakeUncertain(): void {
    this.#isClaimUncertain = true;
    this.wake();
  }

  /**
   * Keeps room for an event that is about to be recorded. It can then be claimed in the write that records it, and
   * comes here with what was read of its bytes: no transaction, and no second reading, between its answer and its runs.
   */
  expect(event: CallEvent) {
    const room = Math.min(...[...this.#lanes.values()].map((lanes) => lanes.room));
    const isFull = this.#expected >= room || this.#held.bytes > mostHeldBytes / 2;
    if (this.#lanes.size === 0 || this.#isStopping || isFull) return undefined;
    this.#expected += 1;
    let isHandedOver = false;
    let hasEnded = false;
    return {
      handOver: (claimed: ClaimedEvent): void => {
        isHandedOver = true;
        // What is claimed after the stop goes back to the inbox with everything else that is held here.
        if (this.#isStopping) return;
        // Placed at once: a run of its call that fails now has to find it behind itself.
        this.#placing.placeHandedOver(claimed, event, { isAnswered: hasEnded });
        if (hasEnded) this.#beginReady();
      },
      end: (): boolean => {
        hasEnded = true;
        this.#expected -= 1;
        return isHandedOver;
      },
    };
  }

  /** Begins the runs of events that have been handed over, once those have been answered. */
  begin(): void {
    for (const lanes of this.#lanes.values()) lanes.answered();
    this.#beginReady();
  }

  /** Begins nothing new, gives active runs until `patience` milliseconds to end, then interrupts them. */
  async stop(patience: number): Promise<void> {
    this.#isStopping = true;
    this.#pulse.stop();
    this.#dueTimer.cancel();
    for (const lanes of this.#lanes.values()) lanes.clear();
    const cancel = this.#parts.clock.after(patience, () => this.#stop.abort(new Error('stopped')));
    await this.#underWay.drained();
    cancel();
  }

  /** Each join on its own, and after the start: what there is to look at must not hold up deliveries. */
  #lookBack(): void {
    const { handlers, store, telemetry, clock } = this.#parts;
    const ties = { isStopping: () => this.#isStopping, onLooked: () => this.wake() };
    for (const handler of handlers) {
      if (handler.join) this.#follow(lookBack(handler, { store, telemetry, clock, ...ties }));
    }
  }

  async #pump(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isStopping) {
        this.#isWanted = false;
        await this.#settleUncertainty();
        await this.#placing.putAllBack();
        for (const lanes of this.#lanes.values()) await this.#claimDue(lanes);
        await this.#placing.putAllBack();
        await this.#claimNew();
        this.#beginReady();
      }
      await this.#setDueTimer();
    } catch (error) {
      this.#isClaimUncertain = true;
      this.#parts.telemetry.tell('dispatch_failed', { cause: messageOf(error) });
      this.#beginReady();
      this.#parts.clock.after(storePause, () => this.wake());
    } finally {
      this.#isPumping = false;
    }
    // Woken between the last look and the end: nobody else would look again.
    if (this.#isWanted) this.wake();
  }

  /** Gives back what was claimed without our hearing of it: nobody else would ever take it up. */
  async #settleUncertainty(): Promise<void> {
    if (!this.#isClaimUncertain) return;
    this.#isClaimUncertain = false;
    try {
      await this.#parts.store.releaseUnheld(() => this.#held.work);
    } catch (error) {
      this.#isClaimUncertain = true;
      throw error;
    }
  }

  async #claimDue(lanes: Lanes<ClaimedWork>): Promise<void> {
    const { store, clock } = this.#parts;
    const { handler } = lanes;
    const room = this.#roomIn(lanes);
    if (room === 0 || this.#held.bytes > mostHeldBytes || !(await this.#dueTimer.isDue(handler.name))) return;
    const { isCrowded } = lanes;
    const order = {
      isStrict: handler.order === 'strict',
      without: isCrowded ? lanes.calls : [],
      isOneACall: isCrowded,
    };
    const claimed = await store.claimRuns(handler.name, room, clock.now(), order);
    this.#dueTimer.claimed(handler.name, claimed.length);
    for (const stored of claimed) this.#placing.takeUp(lanes, stored);
  }

  async #claimNew(): Promise<void> {
    // Without a handler there is nothing to claim for: a program that only looks into the inbox must not take
    // events from the one that has the handlers.
    const limit = Math.max(0, ...[...this.#lanes.values()].map((lanes) => this.#roomIn(lanes)));
    if (limit === 0 || this.#held.bytes > mostHeldBytes) {
      this.#mayBeMore = true;
      return;
    }
    const claimed = await this.#claimEvents(limit);
    this.#mayBeMore = claimed.length > 0;
    this.#isWanted ||= this.#mayBeMore && this.#hasRoom();
  }

  async #claimEvents(limit: number): Promise<readonly ClaimedEvent[]> {
    let isHandedOver = false;
    const handOver = (claimed: readonly ClaimedEvent[]): void => {
      isHandedOver = true;
      this.#placing.take(claimed);
    };
    try {
      const claimed = await this.#parts.store.claimEvents(limit, handOver);
      // A store of the user's own may do no more than return them.
      if (!isHandedOver) this.#placing.take(claimed);
      return claimed;
    } finally {
      this.#placing.placeTaken();
    }
  }

  #beginReady(): void {
    if (this.#isStopping) return;
    for (const lanes of this.#inTurn) {
      for (let work = lanes.next(this.#mayBegin); work; work = lanes.next(this.#mayBegin)) {
        if (isSuspect(work)) this.#suspected(lanes, work);
        this.#follow(this.#perform(lanes, work));
      }
    }
  }

  /** Each handler has its turn: one that is slow must not keep its siblings from all that is suspect. */
  #suspected(lanes: Lanes<ClaimedWork>, work: ClaimedWork): void {
    this.#suspect = work;
    this.#inTurn = [...this.#inTurn.filter((other) => other !== lanes), lanes];
  }

  /** Where processes have died, runs begin one at a time: only the one that ends the next is to be blamed. */
  readonly #mayBegin = (work: ClaimedWork): boolean => !isSuspect(work) || this.#suspect === undefined;

  async #perform(lanes: Lanes<ClaimedWork>, work: ClaimedWork): Promise<void> {
    // Others are held by their event.
    if (work.run.isCounted) this.#held.addRun(work.run);
    let hasLeft = false;
    // Others begin while the end of this one is written: a commit serves many, and a handler's places are few.
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      lanes.leave();
      this.#beginReady();
    };
    try {
      const state = await this.#execution.attempt(work, leave);
      const isWaiting = state?.kind === 'due';
      // Strict: what comes after a run that failed goes back to the inbox until that run is settled.
      if (isWaiting && lanes.handler.order === 'strict') {
        for (const follower of lanes.takeFollowers(work))
          this.#placing.putBack(follower, { kind: 'blocked' });
      }
      if (isWaiting || lanes.handler.order === 'strict') this.wake();
    } finally {
      if (this.#suspect === work) this.#suspect = undefined;
      this.#held.endRun(work.run);
      leave();
      lanes.finish(work);
      this.#beginReady();
      if (this.#mayBeMore && this.#hasRoom()) this.wake();
    }
  }

  /** How many may be claimed: places are kept for events that may be handed over. */
  #roomIn(lanes: Lanes<ClaimedWork>): number {
    return Math.min(mostClaimed, Math.max(0, lanes.room - this.#expected));
  }

  /** Claims are made in large steps: one event a claim would cost a commit for each. */
  #hasRoom(): boolean {
    if (this.#held.bytes > mostHeldBytes / 2) return false;
    return [...this.#lanes.values()].some((lanes) => lanes.isHalfEmpty);
  }

  /** A handler whose lanes are full is looked at again when enough of its runs have finished. */
  async #setDueTimer(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    const open = this.#hasRoom() ? lanes.filter(({ isHalfEmpty }) => isHalfEmpty) : [];
    const waiting = open.map(({ handler }) => handler.name);
    this.#mayBeMore ||= waiting.length < lanes.length;
    await this.#dueTimer.set(waiting, () => this.wake());
    if (this.#isStopping) this.#dueTimer.cancel();
  }

  #follow(work: Promise<unknown>): void {
    this.#underWay.follow(work);
  }
}

function callOf({ run }: ClaimedWork): string | undefined {
  return run.handler.order === 'none' ? undefined : run.callId;
}

/** One death may be a deployment's; of what several processes died over, the next may die too. */
function isSuspect({ run }: ClaimedWork): boolean {
  return run.takeovers > 1;
}
