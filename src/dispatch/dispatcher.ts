import { setMaxListeners } from 'node:events';
import { messageOf } from '../kit/error-text.ts';
import type { BodyDecoder } from '../events/body-decoder.ts';
import type { Handler } from './handling.ts';
import type { CallEvent } from '../events/model.ts';
import { type ClaimedEvent, type CrashCounts } from '../store/claims.ts';
import { storePause } from '../store/store-pause.ts';
import { Claimer } from './claimer.ts';
import { DueTimer } from './due-timer.ts';
import { type ClaimedWork, Execution, type ExecutionParts } from './execution.ts';
import { Held } from './held.ts';
import { Lanes } from './lanes.ts';
import { lookBack, reportHandlers } from './at-start.ts';
import { Placer } from './placer.ts';
import { PoisonRuns } from './poison.ts';
import { Heartbeat, heartbeatInterval } from './heartbeat.ts';
import { Settler } from './settler.ts';
import { InFlight } from './in-flight.ts';

/** What the dispatcher works with. */
export interface DispatcherParts extends Omit<ExecutionParts, 'stop'> {
  readonly decoder: BodyDecoder;
  readonly handlers: readonly Handler[];
  readonly fallback: Handler | undefined;
}

/** Takes events from the inbox to the handlers: claim → route → run → settle. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #execution: Execution;
  readonly #lanes: ReadonlyMap<string, Lanes<ClaimedWork>>;
  readonly #inFlight: InFlight;
  readonly #heartbeat: Heartbeat;
  readonly #stop = new AbortController();
  #isStopping = false;
  #isPumping = false;
  #isWanted = false;
  /** How often `begin` was called. */
  #answers = 0;
  readonly #poison: PoisonRuns<ClaimedWork, Lanes<ClaimedWork>>;
  readonly #held = new Held();
  readonly #placer: Placer;
  readonly #claimer: Claimer;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    // Every active run listens for the stop; with more than ten, Node would warn of a leak.
    setMaxListeners(0, this.#stop.signal);
    const settler = new Settler({ ...parts, stop: this.#stop.signal });
    this.#execution = new Execution({ ...parts, stop: this.#stop.signal }, settler);
    const all = parts.fallback ? [...parts.handlers, parts.fallback] : parts.handlers;
    this.#lanes = new Map(all.map((handler) => [handler.name, new Lanes(handler, callOf)]));
    const lanes = [...this.#lanes.values()];
    const { store, telemetry, clock } = parts;
    this.#poison = new PoisonRuns({ lanes, clock, onFree: () => this.#beginReady() });
    this.#inFlight = new InFlight(telemetry);
    const follow = (work: Promise<unknown>) => this.#inFlight.follow(work);
    const alone = (crashes: CrashCounts) => this.#poison.reading(crashes);
    const ties = { follow, alone, wake: () => this.wake(), onPlaced: () => this.#goOn() };
    const places = { settler, lanes: this.#lanes, held: this.#held };
    this.#placer = new Placer({ ...parts, ...places, ...ties });
    this.#heartbeat = new Heartbeat({ store, telemetry, clock, follow, onWork: () => this.wake() });
    const from = { store, clock, dueTimer: new DueTimer(store, clock, heartbeatInterval) };
    const to = { lanes, held: this.#held, placer: this.#placer };
    this.#claimer = new Claimer({ ...from, ...to });
  }

  /** Takes over what dead processes held, logs which handlers don't fit the inbox, and begins. */
  async start(): Promise<void> {
    const { store, telemetry } = this.#parts;
    await this.#heartbeat.start();
    for (const { handler } of this.#lanes.values()) await store.unblock(handler.name, handler.order);
    await reportHandlers(store, telemetry, new Set(this.#lanes.keys()));
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

  /**
   * Reserves room for an event that is about to be recorded. The write that records the event can then claim it too,
   * and hands it over here as it was read. So there is no other transaction and no second reading before its runs.
   */
  expect(event: CallEvent) {
    if (this.#isStopping || !this.#claimer.keepPlace()) return undefined;
    let isHandedOver = false;
    let hasEnded = false;
    return {
      handOver: (claimed: ClaimedEvent): void => {
        isHandedOver = true;
        // An event that is claimed during a stop goes back to the inbox with all other claims of this process.
        if (this.#isStopping) return;
        const [isAnswered, answers] = [hasEnded, this.#answers];
        // Placed at once, unless an earlier event of its call is still being read: if a run of its call fails now, it
        // must find this event's runs behind itself.
        this.#placer.placeHandedOver(claimed, event, () => isAnswered || this.#answers > answers);
        if (hasEnded) this.#beginReady();
      },
      end: (): boolean => {
        hasEnded = true;
        this.#claimer.freePlace();
        return isHandedOver;
      },
    };
  }

  /** Begins the runs of events that have been handed over. Called when those events have been answered. */
  begin(): void {
    this.#answers += 1;
    for (const lanes of this.#lanes.values()) lanes.answered();
    this.#beginReady();
  }

  /** Begins nothing new, gives active runs `timeout` milliseconds to end, then interrupts them. */
  async stop(timeout: number): Promise<void> {
    this.#isStopping = true;
    // The heartbeat goes on until the last run has ended: otherwise other processes would take over what is finished here.
    this.#heartbeat.drain();
    this.#claimer.cancelTimer();
    this.#placer.stop();
    this.#poison.stop();
    for (const lanes of this.#lanes.values()) lanes.clear();
    const cancel = this.#interruptAfter(timeout);
    await this.#inFlight.drained();
    this.#heartbeat.stop();
    cancel();
  }

  /** Returns the function that cancels it. Without timeout no clock is asked: a manual one may never be moved again. */
  #interruptAfter(timeout: number): () => void {
    const interrupt = (): void => this.#stop.abort(new Error('stopped'));
    if (timeout > 0) return this.#parts.clock.after(timeout, interrupt);
    interrupt();
    return () => {};
  }

  /** Lets each join look back, in the background: however many events there are, deliveries must not wait for it. */
  #lookBack(): void {
    const { handlers, store, telemetry, clock } = this.#parts;
    const ties = {
      isStopping: () => this.#isStopping,
      stop: this.#stop.signal,
      onLooked: () => this.wake(),
    };
    for (const handler of handlers) {
      if (handler.join) this.#follow(lookBack(handler, { store, telemetry, clock, ...ties }));
    }
  }

  async #pump(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isStopping) {
        this.#isWanted = false;
        if (await this.#claimer.claim()) this.#isWanted = true;
        this.#beginReady();
      }
      await this.#claimer.setTimer(() => this.wake());
      if (this.#isStopping) this.#claimer.cancelTimer();
    } catch (error) {
      this.#parts.telemetry.report('dispatch_failed', { cause: messageOf(error) });
      this.#beginReady();
      this.#parts.clock.after(storePause, () => this.wake());
    } finally {
      this.#isPumping = false;
    }
    // Woken after the last look and before the end of this function: nobody else would look again.
    if (this.#isWanted) this.wake();
  }

  #beginReady(): void {
    if (this.#isStopping) return;
    const { inTurn, mayBegin } = this.#poison;
    for (const lanes of inTurn) {
      for (let work = lanes.next(mayBegin); work; work = lanes.next(mayBegin)) {
        this.#poison.began(lanes, work);
        this.#follow(this.#perform(lanes, work));
      }
    }
  }

  async #perform(lanes: Lanes<ClaimedWork>, work: ClaimedWork): Promise<void> {
    let hasLeft = false;
    // The next run begins while the end of this one is written: one commit serves many runs, and places are few.
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      lanes.leave();
      this.#beginReady();
    };
    try {
      const onCalled = () => this.#poison.called(work);
      const state = await this.#execution.attempt(work, { onCalled, onConcluded: leave });
      const isWaiting = state?.kind === 'due';
      // With order `strict`, the runs behind one that failed go back to the inbox until that one is done or dead.
      if (isWaiting && lanes.handler.order === 'strict') {
        for (const follower of lanes.takeFollowers(work)) this.#placer.requeue(follower, { kind: 'blocked' });
      }
      if (isWaiting || lanes.handler.order === 'strict') this.wake();
    } finally {
      this.#poison.ended(work);
      this.#held.endRun(work.run);
      leave();
      lanes.finish(work);
      this.#goOn();
      if (this.#claimer.isNoLongerCrowded(lanes)) this.wake();
    }
  }

  /** Something has ended or been placed: begins what may begin, and claims more if there is room for it. */
  #goOn(): void {
    this.#beginReady();
    if (this.#claimer.mayGoOn) this.wake();
  }

  #follow(work: Promise<unknown>): void {
    this.#inFlight.follow(work);
  }
}

function callOf({ run }: ClaimedWork): string | undefined {
  return run.handler.order === 'none' ? undefined : run.callId;
}
