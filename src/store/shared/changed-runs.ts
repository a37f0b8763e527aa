import { joinKey } from '../event-store.ts';

/** A run that a replay or a dismissal has changed. */
export interface ChangedRun {
  readonly sequence: number;
  readonly handler: string;
}

/** The number of changed runs, in all and for each handler, and of their events. */
export interface RunCounts {
  readonly events: number;
  readonly runs: number;
  readonly handlers: Readonly<Record<string, number>>;
}

/** Whether a replay may requeue a run. A run of a new event without a row is in memory or has yet to begin, so it is open. */
export function mayRequeue(
  { isNew, run }: { readonly isNew: boolean; readonly run: string | null },
  onlyDead: boolean,
): boolean {
  if (onlyDead) return run === 'dead';
  return run === null ? !isNew : run === 'done' || run === 'dead';
}

export const noRuns: RunCounts = { events: 0, runs: 0, handlers: {} };

/** Adds the runs of a step. An event must not be in two steps. */
export function addRuns({ events, runs, handlers }: RunCounts, step: readonly ChangedRun[]): RunCounts {
  const sums = new Map(Object.entries(handlers));
  for (const { handler } of step) sums.set(handler, (sums.get(handler) ?? 0) + 1);
  return {
    events: events + new Set(step.map(({ sequence }) => sequence)).size,
    runs: runs + step.length,
    handlers: Object.fromEntries(sums),
  };
}

/** A run that is dismissed or removed, with the state that it was in. */
export interface RunTaken {
  readonly handler: string;
  readonly callId: string | null;
  readonly state: 'due' | 'claimed' | 'blocked' | 'done' | 'dead';
}

/**
 * The handlers and calls whose next run may have to be unblocked: those of due and claimed runs. A settled run has
 * unblocked the next one already, and what a blocked run holds up is also held up by the run before it.
 */
export function runsThatBlocked(runs: readonly RunTaken[]): Iterable<{ handler: string; callId: string }> {
  const found = new Map<string, { handler: string; callId: string }>();
  for (const { handler, callId, state } of runs) {
    const blocks = state === 'due' || state === 'claimed';
    if (blocks && callId !== null) found.set(joinKey({ handler, callId }), { handler, callId });
  }
  return found.values();
}
