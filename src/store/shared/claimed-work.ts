import {
  type ClaimedEvent,
  type ClaimedRun,
  type HandlerTerms,
  type Settled,
  Unconfirmed,
} from '../claims.ts';
import type { Claimed, FoundEvent, FoundRun, OpenRun } from './found-work.ts';
import type { EventRecord, Sequence } from '../event-record.ts';
import type { RunEnd } from '../store.ts';
import { CallOrder, type RunsBefore } from './call-order.ts';

/** What this process remembers of the claim on a run: it is under its event's claim, or under a row of its own. */
interface RunClaimState extends Claimed {
  readonly terms: HandlerTerms;
  readonly before: RunsBefore;
  /** The claim on its event; undefined if the run has a row and is claimed by itself. */
  readonly event: EventClaimState | undefined;
  /** Whether the run is still attached to its event's claim: `detach` ends that. */
  isAttached: boolean;
  /** Set while the run is being stored: to be called when it is in the inbox. */
  onStored: (() => void) | undefined;
}

/** What this process remembers of a claim on an event, which ends with the last of the event's runs without a row. */
interface EventClaimState extends Claimed {
  readonly storedHandlers: readonly string[];
  readonly before: RunsBefore;
  /** How many runs of the event have no row and are not settled. */
  attached: number;
  /** The write that detaches a run, for the next one to wait for. */
  previous: Promise<void> | undefined;
}

/** What a store keeps in memory about this process's claims: which runs have rows, and what goes before them. */
export class ClaimedWork {
  readonly #order = new CallOrder();

  /** Begins the claim on an event that waited. */
  addEvent({ claimedBy, storedHandlers, openRuns, ...event }: FoundEvent): ClaimedEvent {
    const before = this.#order.watch(event.callId, event.sequence, openRuns);
    const claim: EventClaimState = { claimedBy, storedHandlers, before, attached: 0, previous: undefined };
    return { ...event, claim };
  }

  /** Begins the claim on an event that was claimed by the write that recorded it: nothing goes before it. */
  addRecorded(record: EventRecord, sequence: Sequence, claimedBy: number): ClaimedEvent {
    const { traceId, source, eventName, callId, receivedAt, headers, body } = record;
    const before = this.#order.watch(callId, sequence, []);
    const claim: EventClaimState = {
      claimedBy,
      storedHandlers: [],
      before,
      attached: 0,
      previous: undefined,
    };
    const kept = { sequence, traceId, source, eventName, callId, receivedAt, headers, body };
    return { ...kept, crashCount: 0, readingCrashes: 0, claim };
  }

  /** Begins the claim on a stored run. */
  addRun({ claimedBy, ...run }: FoundRun, terms: HandlerTerms): ClaimedRun {
    const before = this.#order.watch(run.callId, run.sequence, []);
    const state = { event: undefined, isAttached: false, onStored: undefined };
    return { ...run, claim: { claimedBy, terms, before, ...state } satisfies RunClaimState };
  }

  /** The runs of a claimed event, except those that are stored already. */
  runsOf(event: ClaimedEvent, handlers: readonly HandlerTerms[]): readonly ClaimedRun[] {
    const claim = event.claim as EventClaimState;
    const { claimedBy, storedHandlers, before } = claim;
    before.close();
    const runs: ClaimedRun[] = [];
    for (const terms of handlers) {
      if (storedHandlers.includes(terms.name)) continue;
      const own = { claimedBy, terms, before, event: claim, isAttached: true, onStored: undefined };
      const { name: handler } = terms;
      const begun = { handler, attempts: 0, replay: undefined, waitsSince: event.receivedAt };
      runs.push({ ...event, ...begun, claim: own satisfies RunClaimState });
    }
    claim.attached += runs.length;
    return runs;
  }

  /** Forgets a claim that has ended or is lost. */
  forget({ claim }: ClaimedEvent | ClaimedRun): void {
    (claim as EventClaimState | RunClaimState).before.close();
  }

  /** See `Store.mayRun`. */
  mayRun(run: ClaimedRun): boolean {
    const { terms, before } = claimOf(run);
    before.close();
    if (terms.join !== undefined && !isStored(run)) return false;
    return before.runs.every((earlier) => mayComeAfter(terms, earlier));
  }

  /** The run after an attempt of it was counted: it has a row from then on. */
  counted(run: ClaimedRun, attempts: number): ClaimedRun {
    const claim: RunClaimState = { ...claimOf(run), event: undefined };
    return { ...run, attempts, claim };
  }

  /**
   * Detaches a run from its event's claim, if it has one: after the write, it has a row or needs none. `isLast`: the
   * write must end that claim. Runs of one event are detached one after another, so that a write that fails and is
   * repeated doesn't find the claim gone.
   */
  async detach<T>(run: ClaimedRun, write: (isLast: boolean) => Promise<T>): Promise<T> {
    const claim = claimOf(run);
    const { event } = claim;
    if (!event) return write(false);
    const { previous } = event;
    const detached = Promise.withResolvers<void>();
    event.previous = detached.promise;
    if (previous) await previous;
    try {
      const others = attachedBeside(claim, event);
      const result = await write(others === 0);
      event.attached = others;
      claim.isAttached = false;
      return result;
    } finally {
      detached.resolve();
    }
  }

  /**
   * The same for a write whose asynchronous effects may take as long as the handler's deadline. Other attached runs don't
   * wait for it: it stores the run and leaves the claim, which `endClaim` ends if no other run is attached by then. If
   * the process dies in between, the next one finds that all runs are stored, and ends the claim.
   */
  async detachWithEffects(
    run: ClaimedRun,
    write: (isLast: boolean) => Promise<Settled>,
    endClaim: () => Promise<unknown>,
  ): Promise<Settled> {
    const claim = claimOf(run);
    if (!claim.event || attachedBeside(claim, claim.event) === 0) return this.detach(run, write);
    const settled = await write(false);
    const detach = () =>
      this.detach(run, async (isLast) => {
        if (isLast) await endClaim();
      });
    try {
      await detach();
    } catch (error) {
      throw settled === 'settled' ? new Unconfirmed(error, detach) : error;
    }
    return settled;
  }

  /** Detaches a run by storing it as open. Until that has succeeded, later claims of the call see it in `CallOrder`. */
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

/** Whether a handler's run may be placed while an earlier run of its call is open. */
function mayComeAfter({ name, order }: HandlerTerms, { handler, hasBegun }: OpenRun): boolean {
  // With order `call`, later runs may overtake one that has failed, but not one that has not begun.
  return handler !== name || order === 'none' || (order === 'call' && hasBegun);
}

export function claimOf({ claim }: ClaimedRun): RunClaimState {
  return claim as RunClaimState;
}

/** How many other runs are attached to the event. A write that is repeated may have detached this one already. */
function attachedBeside({ isAttached }: RunClaimState, { attached }: EventClaimState): number {
  return isAttached ? attached - 1 : attached;
}

/** A process's claim on an event, as the writes about it name it. */
export interface ClaimOnEvent {
  /** The id of the process as it claimed: all writes about the claim are made under it. */
  readonly process: number;
  readonly sequence: Sequence;
}

/** A process's claim on a stored run, as the writes about it name it. */
export interface ClaimOnRun extends ClaimOnEvent {
  readonly handler: string;
}

/** The claim on an event, or on the event of a run. */
export function claimOnEvent({ claim, sequence }: ClaimedEvent | ClaimedRun): ClaimOnEvent {
  return { process: (claim as EventClaimState | RunClaimState).claimedBy, sequence };
}

/** Whether the run has a row of its own. */
export function isStored(run: ClaimedRun): boolean {
  return claimOf(run).event === undefined;
}

/** Whether the run was claimed under this id of the process or a later one: ids ascend. See `Store.mayHold`. */
export function isClaimedSince(run: ClaimedRun, process: number): boolean {
  return claimOf(run).claimedBy >= process;
}

/**
 * Whether ending the event's claim is all there is to write: the run is done, has no row, and is the last such run of
 * its event. Not with order `strict`, where the next run may have to be unblocked; and not for a join, which remembers
 * that it is settled.
 */
export function onlyEndsClaim(run: ClaimedRun, { state }: RunEnd, isLast: boolean): boolean {
  const { terms, event } = claimOf(run);
  const hasMore = event === undefined || terms.join !== undefined || terms.order === 'strict';
  return state.kind === 'done' && isLast && !hasMore;
}
