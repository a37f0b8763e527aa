import type { EventState } from '../event-store.ts';
import type { RetentionLimits } from '../retention-store.ts';

/** What decides whether an event has been kept long enough. Times in milliseconds since 1970. */
export interface KeptEventAge {
  readonly state: EventState;
  readonly receivedAt: number;
  /** When the last of its stored runs was settled, if it has any. */
  readonly settledAt: number | null;
  readonly isDead: boolean;
  /** Whether a join of its call waits, or is a dead letter that is kept: see `joinNeedsCall`. */
  readonly isNeeded: boolean;
}

/**
 * SQL: whether a join of the call of an event `e` waits, or is a dead letter that is kept: run again, it is to see all of the
 * call. `table` gives the name of a table, and `deadBefore` stands for the time before which dead letters are not kept.
 */
export function joinNeedsCall(table: (name: string) => string, deadBefore: string): string {
  const of = (condition: string) => `exists (
    select 1 from ${table('runs')} n join ${table('joins')} j on j.handler = n.handler and j.call_id = n.call_id
    where n.call_id = e.call_id and n.${condition})`;
  return `(${of("state in ('due', 'claimed', 'blocked')")} or ${of(`state = 'dead' and n.settled_at >= ${deadBefore}`)})`;
}

/** Whether an event may be removed: never one that is not done, however old it is. */
export function isKeptLongEnough(event: KeptEventAge, limits: RetentionLimits): boolean {
  const { state, receivedAt, settledAt, isDead, isNeeded } = event;
  if (state !== 'done' || isNeeded) return false;
  const settled = settledAt ?? receivedAt;
  // A dead letter is kept for a person, and its time begins when it was given up.
  if (isDead) return settled < limits.deadBefore;
  return Math.max(settled, receivedAt) < limits.doneBefore;
}
