import { setMaxListeners } from 'node:events';
import { messageOf } from '../errors.ts';
import { readBytes } from '../events/read-bytes.ts';
import type { Handler, Run } from '../handling.ts';
import { holdProcess } from '../kit/clock.ts';
import type { CallEvent } from '../model.ts';
import type { StoredEvent } from '../store/event-store.ts';
import type { ClaimedEvent, RunState } from '../store/store.ts';
import { Claim, dueAfter, placementOf } from './claim.ts';
import { type ClaimedWork, Execution, type ExecutionParts } from './execution.ts';
import { Held } from './held.ts';
import { Lanes } from './lanes.ts';
import { lookBack } from './look-back.ts';
import { route } from './route.ts';

/** How often this process says that it lives and looks for dead ones, in milliseconds. */
const pulse = 2_000;
/** How long to wait before the inbox is tried again after it failed, in milliseconds. */
const storePause = 1_000;
/** How many events are claimed at once when there is no handler at all. */
const unhandledAtOnce = 250;

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
  readonly #stop = new AbortController();
  #isStopping = false;
  #isPumping = false;
  #isWanted = false;
  /** Whether the inbox may hold more than was claimed. */
  #mayBeMore = false;
  readonly #held = new Held();
  /** Whether a claim has failed, which may have been written all the same. */
  #isClaimUncertain = false;
  #unfinished = 0;
  #idle: (() => void)[] = [];
  /** Handlers whose due runs could not be claimed because their calls are worked on by another process. */
  readonly #heldElsewhere = new Set<string>();
  #cancelPulse = () => {};
  #cancelDue = () => {};

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    // Every active run listens for the stop.
    setMaxListeners(0, this.#stop.signal);
    this.#execution = new Execution({ ...parts, stop: this.#stop.signal });
    const all = parts.fallback ? [...parts.handlers, parts.fallback] : parts.handlers;
    this.#lanes = new Map(all.map((handler) => [handler.name, new Lanes(handler, callOf)]));
  }

  /** Takes over what dead processes held, says what waits for nobody, and begins. */
  async start(): Promise<void> {
    const { store, telemetry } = this.#parts;
    await this.#keepAlive();
    for (const handler of await store.waitingHandlers()) {
      if (!this.#lanes.has(handler)) telemetry.tell('handler_missing', { handler });
    }
    this.#lookBack();
    this.#schedulePulse();
    this.wake();
  }

  /** Looks for work. Called when an event was recorded, a run is due, or places have become free. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isPumping || this.#isStopping) return;
    this.#isPumping = true;
    this.#follow(this.#pump());
  }

  /** Begins nothing new, gives active runs until `patience` milliseconds to end, then interrupts them. */
  async stop(patience: number): Promise<void> {
    this.#isStopping = true;
    this.#cancelPulse();
    this.#cancelDue();
    for (const lanes of this.#lanes.values()) lanes.clear();
    const cancel = this.#parts.clock.after(patience, () => this.#stop.abort(new Error('stopped')));
    // A run that waits for nothing but its signal would let the process end before it is interrupted.
    const letGo = holdProcess();
    if (this.#unfinished > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    letGo();
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
        for (const lanes of this.#lanes.values()) await this.#claimDue(lanes);
        await this.#claimNew();
        this.#beginReady();
      }
      await this.#scheduleDue();
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
    await this.#parts.store.releaseUnheld(this.#held.work);
    this.#isClaimUncertain = false;
  }

  async #claimDue(lanes: Lanes<ClaimedWork>): Promise<void> {
    const { store, clock } = this.#parts;
    const { handler, room } = lanes;
    const dueAt = room > 0 ? await store.nextDue(handler.name) : undefined;
    if (dueAt === undefined || dueAt > clock.now()) return;
    const claimed = await store.claimRuns(handler.name, room, clock.now());
    if (claimed.length === 0) this.#heldElsewhere.add(handler.name);
    else this.#heldElsewhere.delete(handler.name);
    for (const stored of claimed) {
      const event = readStored(stored);
      const run = {
        ...runOf(handler, event, stored),
        stored: true,
        suspect: true,
        attempts: stored.attempts,
        replay: stored.replay,
      };
      this.#held.addRun(run);
      lanes.add({ run, claim: undefined });
    }
  }

  async #claimNew(): Promise<void> {
    const rooms = [...this.#lanes.values()].map((lanes) => lanes.room);
    const limit = rooms.length > 0 ? Math.max(...rooms) : unhandledAtOnce;
    if (limit === 0) {
      this.#mayBeMore = true;
      return;
    }
    const claimed = await this.#parts.store.claimEvents(limit);
    for (const event of claimed) this.#place(event);
    this.#mayBeMore = claimed.length > 0;
    this.#isWanted ||= this.#mayBeMore && this.#hasRoom();
  }

  /** Routes a claimed event and puts each of its runs where its handler's order and room want it. */
  #place(stored: ClaimedEvent): void {
    const { handlers, fallback, telemetry } = this.#parts;
    const event = readStored(stored);
    const takers = route(event, handlers, fallback);
    if (takers.length === 0)
      telemetry.tell('event_unhandled', { traceId: event.traceId, eventName: event.eventName });
    const unsettled = takers.filter((handler) => !stored.storedHandlers.includes(handler.name));
    if (unsettled.length === 0) return this.#follow(this.#execution.finish(stored.sequence));

    this.#held.addEvent(stored.sequence);
    const claim = new Claim(unsettled.length, () => this.#held.endEvent(stored.sequence));
    for (const [index, handler] of unsettled.entries()) {
      const lanes = this.#lanesOf(handler);
      // Each handler gets an event of its own: what one does to it, its siblings don't see.
      const own = index === 0 ? event : readStored(stored);
      const run = { ...runOf(handler, own, stored), suspect: stored.takeovers > 0 };
      if (handler.join) {
        this.#follow(this.#execution.arrive(run, claim, handler.join).then(() => this.wake()));
        continue;
      }
      const placement = placementOf(handler, lanes.room, stored.openRuns);
      if (placement === 'memory') lanes.add({ run, claim });
      else if (placement === 'blocked') this.#putBack({ run, claim }, { kind: 'blocked' });
      else this.#putBack({ run, claim }, { kind: 'due', at: dueAfter(handler, stored.openRuns), reason: '' });
    }
  }

  #putBack({ run, claim }: ClaimedWork, state: RunState): void {
    this.#follow(
      this.#execution
        .settle(run, claim, { state, attempts: run.attempts })
        .finally(() => this.#held.endRun(run))
        .then(() => this.wake()),
    );
  }

  #beginReady(): void {
    if (this.#isStopping) return;
    for (const lanes of this.#lanes.values()) {
      for (let work = lanes.next(); work; work = lanes.next()) this.#follow(this.#perform(lanes, work));
    }
  }

  async #perform(lanes: Lanes<ClaimedWork>, work: ClaimedWork): Promise<void> {
    this.#held.addRun(work.run);
    try {
      const state = await this.#execution.attempt(work);
      const isWaiting = state?.kind === 'due';
      // Strict: what comes after a run that failed goes back to the inbox until that run is settled.
      if (isWaiting && lanes.handler.order === 'strict') {
        for (const follower of lanes.takeFollowers(work)) this.#putBack(follower, { kind: 'blocked' });
      }
      if (isWaiting || lanes.handler.order === 'strict') this.wake();
    } finally {
      this.#held.endRun(work.run);
      lanes.finish(work);
      this.#beginReady();
      if (this.#mayBeMore && lanes.isHalfEmpty) this.wake();
    }
  }

  /** Claims are made in large steps: one event a claim would cost a commit for each. */
  #hasRoom(): boolean {
    return this.#lanes.size === 0 || [...this.#lanes.values()].some((lanes) => lanes.isHalfEmpty);
  }

  #lanesOf(handler: Handler): Lanes<ClaimedWork> {
    const lanes = this.#lanes.get(handler.name);
    if (!lanes) throw new Error(`No lanes for the handler ${handler.name}`);
    return lanes;
  }

  async #scheduleDue(): Promise<void> {
    this.#cancelDue();
    const waits: number[] = [];
    for (const lanes of this.#lanes.values()) waits.push(await this.#untilDue(lanes));
    const wait = Math.min(...waits);
    if (Number.isFinite(wait) && !this.#isStopping)
      this.#cancelDue = this.#parts.clock.after(wait, () => this.wake());
  }

  /** Milliseconds until the handler's due runs are to be looked at; without end when something else will wake us. */
  async #untilDue(lanes: Lanes<ClaimedWork>): Promise<number> {
    const { store, clock } = this.#parts;
    const { name } = lanes.handler;
    const dueAt = await store.nextDue(name);
    if (dueAt === undefined) return Infinity;
    if (!lanes.isHalfEmpty) {
      this.#mayBeMore = true;
      return Infinity;
    }
    // Due and not to be had: another process works on those calls. Asking without a pause would burn the CPU.
    if (dueAt <= clock.now() && this.#heldElsewhere.has(name)) return pulse;
    return Math.max(1, dueAt - clock.now());
  }

  #schedulePulse(): void {
    if (this.#isStopping) return;
    this.#cancelPulse = this.#parts.clock.after(pulse, () => this.#follow(this.#beat()));
  }

  async #beat(): Promise<void> {
    try {
      await this.#keepAlive();
      if (this.#parts.store.changedElsewhere()) this.wake();
    } catch (error) {
      this.#parts.telemetry.tell('dispatch_failed', { cause: messageOf(error) });
    }
    this.#schedulePulse();
  }

  async #keepAlive(): Promise<void> {
    const { takenOver } = await this.#parts.store.keepAlive();
    if (takenOver === 0) return;
    this.#parts.telemetry.tell('claims_taken_over', { count: takenOver });
    this.wake();
  }

  /** Keeps count of what is under way, so that stop can wait for it; nothing is left unhandled. */
  #follow(work: Promise<unknown>): void {
    this.#unfinished += 1;
    void work
      .catch((error: unknown) => this.#parts.telemetry.tell('dispatch_failed', { cause: messageOf(error) }))
      .finally(() => {
        this.#unfinished -= 1;
        if (this.#unfinished === 0) for (const resolve of this.#idle.splice(0)) resolve();
      });
  }
}

/** Bytes that were readable when they arrived are readable now: what is read is fixed by the bytes alone. */
function readStored({ traceId, body, headers, receivedAt }: StoredEvent): CallEvent {
  const reading = readBytes(body, headers, receivedAt);
  if (!reading.ok) throw new Error(`The stored event ${traceId} can no longer be read: ${reading.reason}`);
  return reading.event;
}

function runOf(handler: Handler, event: CallEvent, { sequence, receivedAt }: StoredEvent): Run {
  return {
    handler,
    event,
    sequence,
    receivedAt,
    stored: false,
    suspect: false,
    attempts: 0,
    replay: undefined,
  };
}

function callOf({ run }: ClaimedWork): string | undefined {
  return run.handler.order === 'none' ? undefined : run.event.callId;
}
