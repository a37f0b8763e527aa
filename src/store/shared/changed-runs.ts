import { joinKey } from '../event-store.ts';

/** A run that a replay or a dismissal has changed. */
export interface ChangedRun {
  readonly sequence: number;
  readonly handler: string;
}

/** How many runs were changed, of how many events, and how many of each handler. */
export interface RunCounts {
  readonly events: number;
  readonly runs: number;
  readonly handlers: Readonly<Record<string, number>>;
}

export const noRuns: RunCounts = { events: 0, runs: 0, handlers: {} };

/** Adds the runs of a step. No event is in two steps. */
export function addRuns({ events, runs, handlers }: RunCounts, step: readonly ChangedRun[]): RunCounts {
  const sums = new Map(Object.entries(handlers));
  for (const { handler } of step) sums.set(handler, (sums.get(handler) ?? 0) + 1);
  return {
    events: events + new Set(step.map(({ sequence }) => sequence)).size,
    runs: runs + step.length,
    handlers: Object.fromEntries(sums),
  };
}

/** A run that is dismissed, and the state that it was in. */
export interface DismissedRow {
  readonly handler: string;
  readonly callId: string | null;
  readonly state: 'due' | 'blocked' | 'dead';
}

/**
 * One run of each handler and call whose next run may be unblocked. A dead run unblocked its next one when it died,
 * and a blocked run holds up only what the run before it holds up as well.
 */
export function runsThatBlocked(
  runs: readonly DismissedRow[],
): Iterable<{ handler: string; callId: string }> {
  const found = new Map<string, { handler: string; callId: string }>();
  for (const { handler, callId, state } of runs) {
    if (state === 'due' && callId !== null) found.set(joinKey({ handler, callId }), { handler, callId });
  }
  return found.values();
}
