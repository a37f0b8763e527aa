import type { CallEvent } from '../events/model.ts';
import { Pool } from '../kit/churn.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { type ClaimedEvent, type ClaimedRun, mayBePoison } from '../store/claims.ts';
import type { Store } from '../store/store.ts';
import { unreadable } from './conclude.ts';
import { EventReader, type EventReaderParts } from './event-reader.ts';
import type { HandlerLanes } from './lanes.ts';
import type { Registry } from './registry.ts';
import type { OwnEvent, Run } from './run.ts';

export interface PlacerParts extends EventReaderParts {
  readonly store: Pick<Store, 'runsOf' | 'mayPlace'>;
  readonly registry: Registry;
}

/** Puts the runs of claimed events, and claimed runs, into their handlers' lanes, or back into the inbox. */
export class Placer {
  readonly #parts: PlacerParts;
  readonly #reader: EventReader;
  readonly #order = new PlacingOrder();
  readonly #requeues = new Pool<Promise<unknown>>();
  #unplacedBytes = 0;
  #isStopped = false;

  constructor(parts: PlacerParts) {
    this.#parts = parts;
    this.#reader = new EventReader(parts);
  }

  /** How many claimed events and runs are not placed yet. */
  get unplaced(): number {
    return this.#order.size;
  }

  /** How many bytes their bodies have. */
  get unplacedBytes(): number {
    return this.#unplacedBytes;
  }

  /** Places a claimed event after everything of its call that was claimed before. `event`: if it was read already. */
  placeEvent(claimed: ClaimedEvent, event?: CallEvent): void {
    if (event && !this.#order.isPlacing(claimed.callId)) return this.#routeAndPlace(claimed, event);
    this.#inOrder(claimed, () => {
      const read = event ?? this.#reader.read(claimed);
      return read instanceof Promise
        ? read.then((late) => this.#routeAndPlace(claimed, late))
        : this.#routeAndPlace(claimed, read);
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
    const written = settler
      .requeue(run)
      .finally(() => registry.lanesByName.get(run.handler.name)?.uncountBytes(run));
    const forget = this.#requeues.add(written);
    written.then(forget, forget);
    loop.follow(written.then(loop.wake));
  }

  /** Resolves when every requeued run is in the inbox. Otherwise a claim could find runs that must wait for it. */
  async requeued(): Promise<void> {
    await Promise.allSettled(this.#requeues.items);
  }

  /** From now on nothing is placed: what was claimed goes back with all other claims of this process. */
  stop(): void {
    this.#isStopped = true;
  }

  #inOrder(claimed: ClaimedEvent | ClaimedRun, place: () => void | Promise<void>): void {
    const placing = this.#order.next(claimed.callId, () => (this.#isStopped ? undefined : place()));
    if (!placing) return;
    const { loop } = this.#parts;
    const { byteLength } = claimed.body;
    this.#unplacedBytes += byteLength;
    loop.follow(placing.finally(() => (this.#unplacedBytes -= byteLength)).then(loop.goOn));
  }

  /** `event` is undefined if it was not read. */
  #routeAndPlace(claimed: ClaimedEvent, event: OwnEvent | undefined): void {
    // Reading may have taken time. During a stop even an event that can't be read goes back.
    if (this.#isStopped || !event) return;
    if ('unreadable' in event) return this.#reader.giveUp(claimed, unreadable(event.unreadable, 0));
    const { registry, store, telemetry, loop, settler } = this.#parts;
    const matching = registry.route(event);
    if (matching.length === 0) reportUnhandled(telemetry, event);
    const runs = store.runsOf(claimed, matching);
    if (runs.length === 0) return loop.follow(settler.finish(claimed));
    for (const [index, run] of runs.entries()) {
      // An event that may be poison is read again for each attempt, with a note in the inbox.
      const read = index === 0 && !mayBePoison(claimed) ? event : undefined;
      const lanes = registry.lanesByName.get(run.handler);
      if (lanes) this.#place(lanes, { handler: lanes.handler, claimed: run, read }, { isStored: false });
    }
  }

  /**
   * A stored run always finds room, unless its handler was paused meanwhile: it was claimed because there was room. The
   * event of a join never goes into a lane: `requeue` counts it as arrived, and the join's own run, which has a row, is
   * claimed when it is due.
   */
  #place(lanes: HandlerLanes, run: Run, { isStored }: { readonly isStored: boolean }): void {
    const hasRoom = !lanes.isPaused && (isStored || lanes.roomFor(run) > 0);
    lanes.countBytes(run);
    // Called exactly once for each run, with or without room: see the store's contract.
    const mayPlace = this.#parts.store.mayPlace(run.claimed);
    if (mayPlace && hasRoom) lanes.add(run);
    else this.requeue(run);
  }
}

/**
 * Places the events of a call in order. Reading a large body takes several turns of the event loop, and an event that
 * may be poison waits until it may be read: later events of its call must not overtake it.
 */
class PlacingOrder {
  readonly #lastOf = new Map<string, Promise<void>>();
  /** How many events and runs have not been placed yet. */
  size = 0;

  /** Whether anything of the call is not placed yet. */
  isPlacing(callId: string | undefined): boolean {
    return callId !== undefined && this.#lastOf.has(callId);
  }

  /** Calls `place` as soon as all earlier work of the call has been placed. Returns a promise only if that takes time. */
  next(callId: string | undefined, place: () => void | Promise<void>): Promise<void> | undefined {
    const before = callId === undefined ? undefined : this.#lastOf.get(callId);
    const placing = before ? before.then(place, place) : place();
    if (!placing) return undefined;
    this.size += 1;
    const placed = placing.finally(() => {
      this.size -= 1;
      if (callId !== undefined && this.#lastOf.get(callId) === placed) this.#lastOf.delete(callId);
    });
    if (callId !== undefined) this.#lastOf.set(callId, placed);
    return placed;
  }
}

/**
 * Logs that no handler takes an event. A handler may be registered for its name nevertheless: if the payload has
 * issues, the line lists them, since they are the reason.
 */
function reportUnhandled(telemetry: Telemetry, { traceId, eventName, issues }: CallEvent): void {
  if (issues.length === 0) telemetry.report('event_unhandled', { traceId, eventName });
  else telemetry.report('event_incomplete', { traceId, eventName, issues: issues.map(({ path }) => path) });
}
