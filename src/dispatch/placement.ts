import type { Handler } from './handling.ts';
import type { OpenRun } from '../store/claims.ts';

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
