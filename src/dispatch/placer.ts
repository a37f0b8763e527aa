import type { BodyDecoder } from '../events/body-decoder.ts';
import type { Reading } from '../events/read-bytes.ts';
import type { Handler, Run } from '../handling.ts';
import type { CallEvent } from '../model.ts';
import type { StoredEvent } from '../store/event-store.ts';
import type { Sequence } from '../store/run-key.ts';
import type { ClaimedEvent, ClaimedRun, OpenRun } from '../store/claims.ts';
import type { RunState } from '../store/store.ts';
import type { Telemetry } from '../telemetry.ts';
import { Claim } from './claim.ts';
import type { ClaimedWork } from './execution.ts';
import type { Held } from './held.ts';
import type { Lanes } from './lanes.ts';
import { dueAfter, placementOf } from './placement.ts';
import { readAnother, readStored } from './readings.ts';
import { ReturningRuns } from './returning-runs.ts';
import { route } from './route.ts';
import type { Settler } from './settler.ts';

/** What the placer works with. */
export interface PlacerParts {
  readonly handlers: readonly Handler[];
  readonly fallback: Handler | undefined;
  readonly telemetry: Telemetry;
  readonly decoder: BodyDecoder;
  readonly settler: Settler;
  /** The lanes of every handler, by its name. */
  readonly lanes: ReadonlyMap<string, Lanes<ClaimedWork>>;
  readonly held: Held;
  /** Follows work whose end nobody waits for. */
  readonly follow: (work: Promise<unknown>) => void;
  /** Called when there may be something to run. */
  readonly wake: () => void;
}

/** A claimed event that is still to be placed. */
interface Taken {
  readonly stored: ClaimedEvent;
  /** As it was read when it arrived; undefined if it must be read. */
  readonly event: CallEvent | undefined;
  /** Whether the answer to it has been written. */
  readonly isAnswered: () => boolean;
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
  /** Claimed events that have not been placed yet, in order. */
  readonly #taken: Taken[] = [];
  /** The reading of a large body, and the placing of all that was taken since. */
  #placing: Promise<void> | undefined;

  constructor(parts: PlacerParts) {
    this.#parts = parts;
  }

  /**
   * Takes events that were claimed from the inbox. Nothing else in this process can write meanwhile, so they are read
   * and placed later, by `placeTaken`.
   */
  take(claimed: readonly ClaimedEvent[]): void {
    for (const stored of claimed) this.#taken.push({ stored, event: undefined, isAnswered: () => true });
  }

  /** Reads and places the events that `take` was given, one after the other: at once, unless one of them is large. */
  placeTaken(): Promise<void> | undefined {
    if (this.#placing) return this.#placing;
    // Removed one by one: if placing one of them throws, the others are still to be placed.
    for (let taken = this.#taken.shift(); taken; taken = this.#taken.shift()) {
      const { stored, event, isAnswered } = taken;
      if (event) {
        this.#place(stored, event, isAnswered());
        continue;
      }
      const reading = readStored(this.#parts.decoder, stored);
      if (reading instanceof Promise) {
        this.#placing = this.#placeLarge(stored, reading).then(() => this.placeTaken());
        return this.#placing;
      }
      this.#placeRead(stored, reading);
    }
    return undefined;
  }

  async #placeLarge(stored: ClaimedEvent, reading: Promise<Reading>): Promise<void> {
    try {
      this.#placeRead(stored, await reading);
    } finally {
      this.#placing = undefined;
    }
  }

  #placeRead(stored: ClaimedEvent, reading: Reading): void {
    if (reading.ok) this.#place(stored, reading.event, true);
    else this.#settleUnreadable(stored, undefined, reading.reason);
  }

  /** Places an event that was claimed by the write that recorded it, after all events that were claimed before. */
  placeHandedOver(stored: ClaimedEvent, event: CallEvent, isAnswered: () => boolean): void {
    this.#taken.push({ stored, event, isAnswered });
    const placing = this.placeTaken();
    if (placing) this.#parts.follow(placing);
  }

  /** Routes a claimed event and places each of its runs. */
  #place(stored: ClaimedEvent, event: CallEvent, isAnswered: boolean): void {
    const { handlers, fallback, telemetry, held } = this.#parts;
    const takers = route(event, handlers, fallback);
    if (takers.length === 0) tellUnhandled(telemetry, event);
    const unsettled = takers.filter((handler) => !stored.storedHandlers.includes(handler.name));
    if (unsettled.length === 0) return this.#finish(stored.sequence);

    held.addEvent(stored.sequence, stored.body.byteLength * unsettled.length);
    const claim = new Claim(unsettled.length, () => held.endEvent(stored.sequence));
    for (const [index, handler] of unsettled.entries()) {
      const own = index === 0 ? () => event : () => readAnother(this.#parts.decoder, stored, event);
      const run = { ...runOf(handler, event, stored, own), isCounted: stored.takeovers > 0 };
      this.#placeRun({ run, claim }, stored, isAnswered);
    }
  }

  /** Reads and places a stored run that was claimed. */
  async takeUp(lanes: Lanes<ClaimedWork>, stored: ClaimedRun): Promise<void> {
    const read = readStored(this.#parts.decoder, stored);
    const reading = read instanceof Promise ? await read : read;
    if (!reading.ok) return this.#settleUnreadable(stored, lanes.handler.name, reading.reason);
    const { attempts, replay } = stored;
    const marks = { stored: true, isCounted: true, attempts, replay };
    const run: Run = { ...runOf(lanes.handler, reading.event, stored), ...marks };
    this.#parts.held.addRun(run, stored.body.byteLength);
    this.#put({ run, claim: undefined }, lanes, { room: Infinity, openRuns: [], isAnswered: true });
  }

  /** Puts a claimed run back into the inbox. */
  putBack({ run, claim }: ClaimedWork, state: RunState): void {
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
    else if (placement === 'blocked') this.putBack(work, { kind: 'blocked' });
    else this.putBack(work, { kind: 'following', dueAt: dueAfter(handler, before) });
  }

  #finish(sequence: Sequence): void {
    this.#parts.follow(this.#parts.settler.finish(sequence));
  }

  /** Makes a dead letter of an event or a run that can't be read any more; others that were claimed with it go on. */
  #settleUnreadable(
    { sequence, traceId, callId }: StoredEvent,
    handler: string | undefined,
    reason: string,
  ): void {
    const { telemetry, follow, settler } = this.#parts;
    telemetry.tell('event_unreadable', { traceId, handler, reason });
    follow(settler.settleUnreadable({ sequence, callId, handler }, reason));
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
function tellUnhandled(telemetry: Telemetry, { traceId, eventName, issues }: CallEvent): void {
  if (issues.length === 0) telemetry.tell('event_unhandled', { traceId, eventName });
  else telemetry.tell('event_incomplete', { traceId, eventName, issues: issues.map(({ path }) => path) });
}

function runOf(
  handler: Handler,
  event: CallEvent,
  { sequence, receivedAt, takeovers }: ClaimedEvent | ClaimedRun,
  own: Run['event'] = () => event,
): Run {
  return {
    handler,
    event: own,
    traceId: event.traceId,
    eventName: event.eventName,
    callId: event.callId,
    sequence,
    receivedAt,
    stored: false,
    isCounted: false,
    takeovers,
    attempts: 0,
    replay: undefined,
  };
}
