import { CallOrder, type OpenRun, type RunsBefore, mayComeAfter } from './call-order.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms, Settled } from '../claims.ts';
import type { EventRecord, Sequence } from '../event-record.ts';

/** What a process has claimed, where that process may have entered under another id since. */
interface Claimed {
  /** The id under which it was claimed. */
  readonly claimedBy?: number | undefined;
}

/** An event as a database returns it when it is claimed. */
export interface FoundEvent extends Omit<ClaimedEvent, 'claim'>, Claimed {
  /** Handlers that have a stored run of the event already, in whatever state. */
  readonly storedHandlers: readonly string[];
  /** What goes before it: for each handler one run is enough, one that has not begun if there is any. */
  readonly openRuns: readonly OpenRun[];
}

/** A stored run as a database returns it when it is claimed. */
export type FoundRun = Omit<ClaimedRun, 'claim'> & Claimed;

/** The claim on a run: under its event's claim, or under a row of its own. */
export interface RunClaim extends Claimed {
  readonly handler: HandlerTerms;
  readonly before: RunsBefore;
  /** Undefined: the run has a row, and is claimed by itself. */
  readonly event: EventClaim | undefined;
  /** Whether it is still attached to its event's claim: `detach` ends that. */
  isAttached: boolean;
  /** Set while the run is being stored: what to call when it is in the inbox. */
  onStored: (() => void) | undefined;
}

/**
 * A claim on an event. It ends with the last of the event's runs that has no row, so these are detached one after another:
 * a write that fails and is made again must not find the claim gone.
 */
export class EventClaim implements Claimed {
  readonly claimedBy: number | undefined;
  readonly storedHandlers: readonly string[];
  readonly before: RunsBefore;
  #attached = 0;
  #previous: Promise<unknown> | undefined;

  constructor(claimedBy: number | undefined, storedHandlers: readonly string[], before: RunsBefore) {
    this.claimedBy = claimedBy;
    this.storedHandlers = storedHandlers;
    this.before = before;
  }

  /** Attaches runs, which have no row yet. */
  attach(runs: number): void {
    this.#attached += runs;
  }

  /** Detaches a run: from then on it has a row of its own, or needs none. `write` is told whether the claim ends with it. */
  detach<T>(run: RunClaim, write: (isLast: boolean) => Promise<T>): Promise<T> {
    const detached = this.#previous
      ? this.#previous.then(() => this.#detach(run, write))
      : this.#detach(run, write);
    // Nothing comes after the last one, and most events have only one run.
    if (this.#attached > 1) this.#previous = detached.catch(() => {});
    return detached;
  }

  async #detach<T>(run: RunClaim, write: (isLast: boolean) => Promise<T>): Promise<T> {
    // A write may be made again although it succeeded, because its caller was not told.
    const others = run.isAttached ? this.#attached - 1 : this.#attached;
    const result = await write(others === 0);
    this.#attached = others;
    run.isAttached = false;
    return result;
  }
}

/** What this process has claimed, as far as a database doesn't know it: which runs have rows, and what goes before them. */
export class ClaimedWork {
  readonly #order = new CallOrder();

  /** An event that was just claimed. */
  event({ claimedBy, storedHandlers, openRuns, ...event }: FoundEvent): ClaimedEvent {
    const before = this.#order.watch(event.callId, event.sequence, openRuns);
    return { ...event, claim: new EventClaim(claimedBy, storedHandlers, before) };
  }

  /** A stored run that was just claimed. */
  run({ claimedBy, ...run }: FoundRun, handler: HandlerTerms): ClaimedRun {
    const before = this.#order.watch(run.callId, run.sequence, []);
    const state = { event: undefined, isAttached: false, onStored: undefined };
    return { ...run, claim: { claimedBy, handler, before, ...state } satisfies RunClaim };
  }

  /** The runs of a claimed event, without those that are stored already. */
  runsOf(event: ClaimedEvent, handlers: readonly HandlerTerms[]): readonly ClaimedRun[] {
    const claim = event.claim as EventClaim;
    const unstored = handlers.filter(({ name }) => !claim.storedHandlers.includes(name));
    claim.attach(unstored.length);
    claim.before.close();
    return unstored.map((handler) => ({
      ...event,
      handler: handler.name,
      attempts: 0,
      replay: undefined,
      waitsSince: event.receivedAt,
      claim: {
        claimedBy: claim.claimedBy,
        handler,
        before: claim.before,
        event: claim,
        isAttached: true,
        onStored: undefined,
      } satisfies RunClaim,
    }));
  }

  /** A claim of which nothing will begin any more: it has ended, or is lost. */
  forget({ claim }: ClaimedEvent | ClaimedRun): void {
    (claim as EventClaim | RunClaim).before.close();
  }

  /** Whether a run may be put into a lane. Ends the watch for runs before a stored run, as `runsOf` does for an event. */
  mayPlace(run: ClaimedRun): boolean {
    const { handler, before } = claimOf(run);
    before.close();
    return (handler.join === undefined || isStored(run)) && mayComeAfter(handler, before.runs);
  }

  /** The run as it goes on once an attempt of it is counted: it has a row from then on. */
  begun(run: ClaimedRun, attempts: number): ClaimedRun {
    const claim: RunClaim = { ...claimOf(run), event: undefined };
    return { ...run, attempts, claim };
  }

  /** Detaches a run from its event's claim, if it has one. `write` is told whether that claim ends with it. */
  detach<T>(run: ClaimedRun, write: (isLast: boolean) => Promise<T>): Promise<T> {
    const claim = claimOf(run);
    return claim.event ? claim.event.detach(claim, write) : write(false);
  }

  /** Detaches a run by storing it as open. Until that has succeeded, what is claimed of its call counts it as before it. */
  async store(
    run: ClaimedRun,
    attempts: number,
    write: (isLast: boolean) => Promise<Settled>,
  ): Promise<Settled> {
    const claim = claimOf(run);
    const { sequence, callId, handler } = run;
    claim.onStored ??= this.#order.storing(callId, { sequence, handler, hasBegun: attempts > 0 });
    const settled = await this.detach(run, write);
    claim.onStored();
    return settled;
  }
}

export function claimOf({ claim }: ClaimedRun): RunClaim {
  return claim as RunClaim;
}

/** The id under which an event or a run was claimed: what is written about it goes under no other. */
export function claimerOf({ claim }: ClaimedEvent | ClaimedRun): number | undefined {
  return (claim as EventClaim | RunClaim).claimedBy;
}

/** Whether the run has a row of its own. */
export function isStored(run: ClaimedRun): boolean {
  return claimOf(run).event === undefined;
}

/** Which event's claim or which stored run: what reading is noted under. */
export function readingKeyOf(claimed: ClaimedEvent | ClaimedRun): {
  readonly sequence: Sequence;
  readonly handler: string | undefined;
} {
  const isOwnRow = 'handler' in claimed && isStored(claimed);
  return { sequence: claimed.sequence, handler: isOwnRow ? claimed.handler : undefined };
}

/** An event that was claimed as it was written: nothing goes before it. */
export function foundAtOnce(record: EventRecord, sequence: Sequence, claimedBy?: number): FoundEvent {
  const { traceId, source, eventName, callId, receivedAt, headers, body } = record;
  const kept = { sequence, traceId, source, eventName, callId, receivedAt, headers, body };
  return { ...kept, claimedBy, crashCount: 0, readingCrashes: 0, storedHandlers: [], openRuns: [] };
}
