import { joinKey } from '../event-store.ts';

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
