import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { BodyDecoder } from '../events/decoding.ts';
import type { CallEvent } from '../events/model.ts';
import { type Reading, readBytes } from '../events/read-event.ts';
import { SlotSet } from '../kit/collections.ts';
import type { Clock } from '../kit/clock.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { ClaimedEvent, ClaimedRun } from '../store/claims.ts';
import type { Store } from '../store/store.ts';
import type { HandlerLanes } from './lanes.ts';
import { type PoisonRuns, diedReading } from './poison.ts';
import type { Loop } from './in-flight.ts';
import type { Registry } from './registry.ts';
import { type Conclusion, type Run, mayBePoison, unreadable } from './run.ts';
import type { Settler } from './settler.ts';

interface PlacerParts {
  readonly store: Pick<Store, 'runsOf' | 'mayRun'>;
  readonly registry: Registry;
  readonly telemetry: Telemetry;
  readonly settler: Settler;
  readonly decoder: BodyDecoder;
  readonly clock: Clock;
  readonly poison: Pick<PoisonRuns, 'waitToRead'>;
  readonly loop: Loop;
}

/** Nothing is claimed while the claimed bodies that are not placed yet have more bytes than this. */
const maxUnplacedBytes = 32 * 1024 * 1024;
/** The same for events that wait to be read alone, because they may be poison. */
const maxToReadAlone = 4_000;

/** For how long claimed work is placed in one turn of the event loop, in milliseconds. */
const share = { ofTurn: 2 };

/**
 * Puts the runs of claimed events, and claimed runs, into their handlers' lanes, or back into the inbox: in the order of
 * the claims, and within a call even if reading an event takes several turns of the event loop.
 */
export class Placer {
  readonly #parts: PlacerParts;
  readonly #share: EventLoopShare;
  readonly #afterAnswers: (() => void)[] = [];
  #working: Promise<void> | undefined;
  /** The last of each call that is not placed yet. */
  readonly #lastOf = new Map<string | undefined, Promise<void>>();
  readonly #requeues = new SlotSet<Promise<unknown>>();
  /**
   * How many claimed events and runs are not placed yet, because reading one of their call takes time. Without those
   * that may be poison, which begin one at a time: they must not take the room of all others.
   */
  unplaced = 0;
  #toReadAlone = 0;
  /** How many bytes the bodies of both have. */
  #unplacedBytes = 0;
  #isStopped = false;

  constructor(parts: PlacerParts) {
    this.#parts = parts;
    this.#share = new EventLoopShare(parts.clock, share);
  }

  /** Whether more may be claimed, as far as what is not placed yet is concerned. With `part`, only that part counts. */
  hasRoom(part = 1): boolean {
    return this.#unplacedBytes <= maxUnplacedBytes * part && this.#toReadAlone <= maxToReadAlone * part;
  }

  /**
   * Calls these functions in order, once this turn's answers have been written. Resolves when all have been called. All
   * claimed work is placed by them, so that it is placed in the order in which it was claimed.
   */
  afterAnswers(...work: readonly (() => void)[]): Promise<void> {
    this.#afterAnswers.push(...work);
    this.#working ??= this.#doAfterAnswers();
    return this.#working;
  }

  /** Places a claimed event after everything of its call that was claimed before. `event`: if it was read already. */
  placeEvent(claimed: ClaimedEvent, event?: CallEvent): void {
    if (event && !this.#lastOf.has(claimed.callId)) return this.#routeAndPlace(claimed, event);
    this.#inOrder(claimed, () => {
      if (event) return this.#routeAndPlace(claimed, event);
      const { decoder } = this.#parts;
      const reading = mayBePoison(claimed) ? this.#readAlone(claimed) : readBytes(decoder, claimed);
      if (reading instanceof Promise) return reading.then((late) => this.#placeRead(claimed, late));
      return this.#placeRead(claimed, reading);
    });
  }

  /** Places a stored run that was claimed. Its event is read when the run begins. */
  placeRun(lanes: HandlerLanes, claimed: ClaimedRun): void {
    const run = { handler: lanes.handler, claimed, read: undefined };
    this.#inOrder(claimed, () => this.#place(lanes, run, { isStored: true }));
  }

  /** Puts a run that has not begun back into the inbox. */
  requeue(run: Run): void {
    const { loop, registry, settler } = this.#parts;
    const lanes = registry.lanesByName.get(run.handler.name);
    const written = settler.requeue(run).finally(() => lanes?.uncountBytes(run));
    const forget = this.#requeues.add(written);
    written.then(forget, forget);
    loop.inFlight.track(written.then(() => loop.wake()));
  }

  /** Resolves when every requeued run is in the inbox. Otherwise a claim could find runs that must wait for it. */
  async requeued(): Promise<void> {
    await Promise.allSettled(this.#requeues.items);
  }

  /** From now on nothing is placed: what was claimed goes back with all other claims of this process. */
  stop(): void {
    this.#isStopped = true;
  }

  /** A claim may bring hundreds of events to read. This takes several turns, and deliveries are answered in between. */
  async #doAfterAnswers(): Promise<void> {
    const { loop } = this.#parts;
    await endOfTurn();
    try {
      for (let next = this.#afterAnswers.shift(); next; next = this.#afterAnswers.shift()) {
        const wait = this.#share.whenFree();
        if (wait) {
          loop.beginReady();
          await wait;
        }
        next();
      }
    } finally {
      this.#working = undefined;
      loop.beginReady();
    }
  }

  /**
   * Calls `place` as soon as all earlier work of the call has been placed. Reading a large body takes several turns of
   * the event loop, and an event that may be poison waits until it may be read: later events must not overtake it.
   */
  #inOrder(claimed: ClaimedEvent | ClaimedRun, place: () => void | Promise<void>): void {
    const { callId } = claimed;
    const unlessStopped = () => (this.#isStopped ? undefined : place());
    const before = this.#lastOf.get(callId);
    const placing = before ? before.then(unlessStopped, unlessStopped) : unlessStopped();
    if (!placing) return;
    this.#countUnplaced(claimed, 1);
    const placed = placing.finally(() => {
      this.#countUnplaced(claimed, -1);
      if (this.#lastOf.get(callId) === placed) this.#lastOf.delete(callId);
    });
    if (callId !== undefined) this.#lastOf.set(callId, placed);
    const { loop } = this.#parts;
    loop.inFlight.track(placed.then(() => loop.advance()));
  }

  #countUnplaced(claimed: ClaimedEvent | ClaimedRun, by: 1 | -1): void {
    if (mayBePoison(claimed)) this.#toReadAlone += by;
    else this.unplaced += by;
    this.#unplacedBytes += by * claimed.body.byteLength;
  }

  /**
   * Reads an event over which a process has died, alone. Resolves to undefined if too many died while they read it, and
   * it was given up, or if the receiver stops.
   */
  async #readAlone(claimed: ClaimedEvent): Promise<Reading | undefined> {
    const { settler, decoder, poison } = this.#parts;
    const died = diedReading(claimed, 0);
    if (died) return this.#giveUp(claimed, died);
    const end = await poison.waitToRead(claimed);
    if (!end) return undefined;
    try {
      return await settler.readNoted(claimed, () => readBytes(decoder, claimed));
    } finally {
      end();
    }
  }

  /** Makes a dead letter of an event that can't be read. Others that were claimed with it go on. */
  #giveUp(claimed: ClaimedEvent, conclusion: Conclusion): undefined {
    const { telemetry, loop, settler } = this.#parts;
    reportUnread(telemetry, claimed, conclusion);
    loop.inFlight.track(settler.settleUnread(claimed, conclusion));
  }

  /** Reading may have taken time. During a stop even an event that can't be read goes back. */
  #placeRead(claimed: ClaimedEvent, reading: Reading | undefined): void {
    if (this.#isStopped || !reading) return;
    if (reading.ok) this.#routeAndPlace(claimed, reading.event);
    else this.#giveUp(claimed, unreadable(reading.reason, 0));
  }

  #routeAndPlace(claimed: ClaimedEvent, event: CallEvent): void {
    if (this.#isStopped) return;
    const { registry, store, telemetry, loop, settler } = this.#parts;
    const matching = registry.route(event);
    // Joins take incomplete events, which no typed handler gets.
    if (matching.length === 0 || (event.issues.length > 0 && matching.every(({ join }) => join)))
      reportUnhandled(telemetry, event);
    const runs = store.runsOf(claimed, matching);
    if (runs.length === 0) return loop.inFlight.track(settler.finish(claimed));
    for (const [index, run] of runs.entries()) {
      // An event that may be poison is read again for each attempt, with a note in the inbox.
      const read = index === 0 && !mayBePoison(claimed) ? event : undefined;
      const lanes = registry.lanesByName.get(run.handler);
      if (lanes) this.#place(lanes, { handler: lanes.handler, claimed: run, read }, { isStored: false });
    }
  }

  /**
   * The event of a join never goes into a lane: `requeue` counts it as arrived, and the join's own run, which has a row,
   * is claimed when it is due.
   */
  #place(lanes: HandlerLanes, run: Run, { isStored }: { readonly isStored: boolean }): void {
    // Called exactly once for each run, with or without room: see the store's contract.
    if (this.#parts.store.mayRun(run.claimed) && lanes.add(run, { isStored })) return;
    lanes.countBytes(run);
    this.requeue(run);
  }
}

/** Writes the log line of an event that became a dead letter before it could be routed. */
function reportUnread(
  telemetry: Telemetry,
  { traceId, callId, eventName }: ClaimedEvent,
  { attempts: attempt, cause, unreadable: reason }: Conclusion,
): void {
  if (reason === undefined) telemetry.report('run_dead', { traceId, callId, eventName, attempt, cause });
  else telemetry.report('event_unreadable', { traceId, reason });
}

/**
 * Logs that no handler takes an event, except joins. A handler may be registered for its name nevertheless: if the
 * payload has issues, the line lists them, since they are the reason.
 */
function reportUnhandled(telemetry: Telemetry, { traceId, eventName, issues }: CallEvent): void {
  if (issues.length === 0) telemetry.report('event_unhandled', { traceId, eventName });
  else telemetry.report('event_incomplete', { traceId, eventName, issues: issues.map(({ path }) => path) });
}
