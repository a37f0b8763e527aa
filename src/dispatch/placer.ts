import type { Handler, Run } from './handling.ts';
import type { CallEvent } from '../events/model.ts';
import { type ClaimedEvent, type ClaimedRun, type OpenRun, mayBePoison } from '../store/claims.ts';
import type { RunState } from '../store/store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { ClaimedWork } from './execution.ts';
import { EventReader, type EventReaderParts, readOwn } from './event-reader.ts';
import type { Lanes } from './lanes.ts';
import { Claim } from './held.ts';
import { PlacingOrder, ReturningRuns, dueAfter, placementOf } from './placement.ts';
import { route } from './route.ts';

/** What the placer works with. */
export interface PlacerParts extends EventReaderParts {
  /** The lanes of every handler, by its name. */
  readonly lanes: ReadonlyMap<string, Lanes<ClaimedWork>>;
  /** Called when there may be something to run. */
  readonly wake: () => void;
  /** Called when something has been placed later than it was taken. */
  readonly onPlaced: () => void;
}

/** What decides where a run goes. */
interface Circumstances {
  /** How many more runs its handler's lanes take. */
  readonly room: number;
  /** Unsettled stored runs of earlier events of its call. */
  readonly openRuns: readonly OpenRun[];
  /** Whether the answer to its event has been written. */
  readonly isAnswered: boolean;
}

/** Puts the runs of claimed events, and claimed runs, into their handlers' lanes, or back into the inbox. */
export class Placer {
  readonly #parts: PlacerParts;
  readonly #returning = new ReturningRuns();
  readonly #reader: EventReader;
  /** Events that were claimed from the inbox and have not been placed yet. */
  #taken: ClaimedEvent[] = [];
  readonly #order = new PlacingOrder();

  constructor(parts: PlacerParts) {
    this.#parts = parts;
    this.#reader = new EventReader(parts);
  }

  /**
   * Takes events that were claimed from the inbox. Nothing else in this process can write meanwhile, so they are read
   * and placed later, by `placeTaken`.
   */
  take(claimed: readonly ClaimedEvent[]): void {
    this.#taken.push(...claimed);
  }

  /** How many events and runs were taken and have no place in the lanes yet. */
  get unplaced(): number {
    return this.#order.size;
  }

  /** Reads and places the events that `take` was given. */
  placeTaken(): void {
    // Removed one by one: if placing one of them throws, the others are still to be placed.
    for (let stored = this.#taken.shift(); stored; stored = this.#taken.shift()) {
      const event = stored;
      this.#inOrder(event, () => this.#readAndPlace(event));
    }
  }

  /**
   * Places an event that was claimed by the write that recorded it, after all events of its call that were claimed
   * before. `isAnswered` is asked when it is placed.
   */
  placeHandedOver(claimed: ClaimedEvent, event: CallEvent, isAnswered: () => boolean): void {
    this.placeTaken();
    this.#inOrder(claimed, () => this.#place(claimed, event, isAnswered()));
  }

  /** From now on nothing is read to be placed. */
  stop(): void {
    this.#reader.stop();
  }

  #inOrder(claimed: ClaimedEvent, place: () => void | Promise<void>): void {
    const placing = this.#order.next(claimed.callId, place);
    if (!placing) return;
    const { held, follow, onPlaced } = this.#parts;
    held.addEvent(claimed.sequence, claimed.body.byteLength);
    follow(placing.then(onPlaced));
  }

  #readAndPlace(stored: ClaimedEvent): void | Promise<void> {
    const place = (event: CallEvent | undefined): void => {
      if (event) this.#place(stored, event, true);
    };
    const reading = this.#reader.read(stored);
    return reading instanceof Promise ? reading.then(place) : place(reading);
  }

  /** Routes a claimed event and places each of its runs. */
  #place(stored: ClaimedEvent, event: CallEvent, isAnswered: boolean): void {
    const { handlers, fallback, telemetry, held } = this.#parts;
    const matching = route(event, handlers, fallback);
    if (matching.length === 0) reportUnhandled(telemetry, event);
    const unsettled = matching.filter((handler) => !stored.storedHandlers.includes(handler.name));
    if (unsettled.length === 0) return this.#reader.finish(stored);

    held.addEvent(stored.sequence, stored.body.byteLength * unsettled.length);
    const claim = new Claim(unsettled.length, () => held.endEvent(stored.sequence));
    for (const [index, handler] of unsettled.entries()) {
      // What may be poison is read anew for each attempt, when that is counted.
      const isRead = index === 0 && !mayBePoison(stored);
      const run = runOf(handler, stored, isRead ? () => event : () => readOwn(this.#parts.decoder, stored));
      this.#placeRun({ run, claim }, stored, isAnswered);
    }
  }

  /** Places a stored run that was claimed. Its event is read when the run begins. */
  takeUp(lanes: Lanes<ClaimedWork>, stored: ClaimedRun): void {
    const { follow, held, onPlaced } = this.#parts;
    const { attempts, replay } = stored;
    const own = () => readOwn(this.#parts.decoder, stored);
    const run: Run = { ...runOf(lanes.handler, stored, own), stored: true, attempts, replay };
    held.addRun(run, stored.body.byteLength);
    const circumstances = { room: Infinity, openRuns: [], isAnswered: true };
    const placing = this.#order.next(run.callId, () =>
      this.#put({ run, claim: undefined }, lanes, circumstances),
    );
    if (placing) follow(placing.then(onPlaced));
  }

  /** Puts a claimed run back into the inbox. */
  requeue({ run, claim }: ClaimedWork, state: RunState): void {
    const { follow, settler, held, wake } = this.#parts;
    const written = settler
      .settle(run, claim, { state, attempts: run.attempts })
      .finally(() => held.endRun(run));
    this.#returning.add(run, state, written);
    follow(written.then(wake));
  }

  /** Resolves when every run that goes back is in the inbox: before that, a claim doesn't see the order of all runs. */
  async putAllBack(): Promise<void> {
    await this.#returning.ended();
  }

  #placeRun(
    { run, claim }: { readonly run: Run; readonly claim: Claim },
    { openRuns }: ClaimedEvent,
    isAnswered: boolean,
  ): void {
    const { handler } = run;
    const { follow, settler, wake } = this.#parts;
    if (handler.join) return follow(settler.arrive(run, claim, handler.join).then(wake));
    const lanes = this.#lanesOf(handler);
    const work = { run, claim };
    this.#put(work, lanes, { room: lanes.roomFor(work), openRuns, isAnswered });
  }

  /**
   * Puts a run into its handler's lanes, or back into the inbox behind the runs that come before it: stored runs, and
   * runs on their way back to the inbox, which no claim can have seen.
   */
  #put(work: ClaimedWork, lanes: Lanes<ClaimedWork>, { room, openRuns, isAnswered }: Circumstances): void {
    const { handler } = lanes;
    const before = this.#returning.runsBefore(work.run, openRuns);
    const placement = placementOf(handler, room, before);
    if (placement === 'memory') lanes.add(work, { isAnswered });
    else if (placement === 'blocked') this.requeue(work, { kind: 'blocked' });
    else this.requeue(work, { kind: 'following', dueAt: dueAfter(handler, before) });
  }

  #lanesOf(handler: Handler): Lanes<ClaimedWork> {
    const lanes = this.#parts.lanes.get(handler.name);
    if (!lanes) throw new Error(`No lanes for the handler ${handler.name}`);
    return lanes;
  }
}

/**
 * Logs that no handler takes an event. A handler may well be registered for its name; if the payload has issues, the
 * line lists them, because nobody would find that reason otherwise.
 */
function reportUnhandled(telemetry: Telemetry, { traceId, eventName, issues }: CallEvent): void {
  if (issues.length === 0) telemetry.report('event_unhandled', { traceId, eventName });
  else telemetry.report('event_incomplete', { traceId, eventName, issues: issues.map(({ path }) => path) });
}

function runOf(handler: Handler, claimed: ClaimedEvent | ClaimedRun, event: Run['event']): Run {
  const { traceId, eventName, callId, sequence, receivedAt, crashCount, readingCrashes } = claimed;
  return {
    handler,
    event,
    traceId,
    eventName,
    callId,
    sequence,
    receivedAt,
    stored: false,
    crashCount,
    readingCrashes,
    attempts: 0,
    replay: undefined,
  };
}
