import type { Handler } from './handling.ts';
import type { OpenRun } from '../store/claims.ts';
import type { Run } from './handling.ts';
import type { Sequence } from '../store/run-key.ts';
import type { RunState } from '../store/store.ts';

/** Where a claimed event's run goes: to memory, or back to the inbox as a row that is due or blocked. */
export type Placement = 'memory' | 'due' | 'blocked';

/** Decides where a run goes, by the order its handler asks for and the room it has. */
export function placementOf({ name, order }: Handler, room: number, openRuns: readonly OpenRun[]): Placement {
  const earlier = openRuns.filter((run) => run.handler === name);
  if (order === 'strict' && earlier.length > 0) return 'blocked';
  // A run of an earlier event that has not begun goes first; one that has failed lets later runs go ahead.
  if (order === 'call' && earlier.some((run) => run.attempts === 0)) return 'due';
  return room > 0 ? 'memory' : 'due';
}

/**
 * When a run that goes back to the inbox is due: at the same time as the last of the runs before it. A replay puts
 * runs back that are due later, and an event that arrives meanwhile must not overtake them.
 */
export function dueAfter({ name, order }: Handler, openRuns: readonly OpenRun[]): number {
  if (order !== 'call') return 0;
  const earlier = openRuns.filter((run) => run.handler === name && run.attempts === 0);
  return earlier.reduce((latest, run) => Math.max(latest, run.dueAt), 0);
}

/**
 * Keeps the order of a call's events while they are placed. To read a large body takes several turns of the event loop,
 * and an event that may be poison waits until it may be read: what comes later of its call must not overtake it.
 */
export class PlacingOrder {
  readonly #lastOf = new Map<string, Promise<void>>();
  #size = 0;

  /** How many events and runs have not been placed yet. */
  get size(): number {
    return this.#size;
  }

  /** Calls `place` at once, or when what came before of its call has been placed. Returns a promise only if it takes time. */
  next(callId: string | undefined, place: () => void | Promise<void>): Promise<void> | undefined {
    const before = callId === undefined ? undefined : this.#lastOf.get(callId);
    const placing = before ? before.then(place, place) : place();
    if (!placing) return undefined;
    this.#size += 1;
    const placed = placing.finally(() => {
      this.#size -= 1;
      if (callId !== undefined && this.#lastOf.get(callId) === placed) this.#lastOf.delete(callId);
    });
    if (callId !== undefined) this.#lastOf.set(callId, placed);
    return placed;
  }
}

interface ReturningRun extends OpenRun {
  readonly sequence: Sequence;
}

/**
 * The runs that are on their way back to the inbox. A claim that is made meanwhile can't see them there. What it claims
 * is therefore compared with them here: otherwise an event could be handled before an earlier event of its call.
 */
export class ReturningRuns {
  readonly #written = new Set<Promise<unknown>>();
  readonly #byCall = new Map<string, Set<ReturningRun>>();

  /** Adds a run that is being requeued; `written` settles when the run is in the inbox. */
  add(run: Run, state: RunState, written: Promise<unknown>): void {
    const forget = this.#remember(run, state);
    this.#written.add(written);
    const isBack = (): void => {
      this.#written.delete(written);
      forget();
    };
    written.then(isBack, isBack);
  }

  /** The runs that come before a run: the stored runs that its claim has found, and those on their way back. */
  runsBefore({ callId, sequence }: Run, stored: readonly OpenRun[]): readonly OpenRun[] {
    const runs = callId === undefined ? undefined : this.#byCall.get(callId);
    return runs === undefined ? stored : [...stored, ...[...runs].filter((run) => run.sequence < sequence)];
  }

  /** Resolves when every run that goes back is in the inbox. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#written);
  }

  #remember({ callId, handler, sequence, attempts }: Run, state: RunState): () => void {
    if (callId === undefined) return () => {};
    const run = {
      handler: handler.name,
      sequence,
      attempts,
      dueAt: state.kind === 'following' ? state.dueAt : 0,
    };
    const runs = this.#byCall.get(callId) ?? new Set();
    this.#byCall.set(callId, runs.add(run));
    return () => {
      runs.delete(run);
      if (runs.size === 0) this.#byCall.delete(callId);
    };
  }
}
