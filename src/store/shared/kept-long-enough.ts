import type { EventState } from '../event-store.ts';
import type { RetentionLimits } from '../retention-store.ts';

/** An event that may have been kept long enough. Times in milliseconds since 1970. */
export interface KeptEventAge {
  readonly state: EventState;
  readonly receivedAt: number;
  /** When the last of its stored runs was settled; null if it has none. */
  readonly settledAt: number | null;
  readonly isDead: boolean;
  /** See `joinNeedsCall`. */
  readonly isNeeded: boolean;
}

/**
 * SQL: whether a join of the call of an event `e` waits, or is a dead letter that is still kept. If it is run again, it
 * must see the whole call. `deadBefore` is the parameter for the time before which dead letters are not kept.
 */
export function joinNeedsCall(table: (name: string) => string, deadBefore: string): string {
  const of = (condition: string) => `exists (
    select 1 from ${table('runs')} n join ${table('joins')} j on j.handler = n.handler and j.call_id = n.call_id
    where n.call_id = e.call_id and n.${condition})`;
  return `(${of("state in ('due', 'claimed', 'blocked')")} or ${of(`state = 'dead' and n.settled_at >= ${deadBefore}`)})`;
}

/** Whether an event may be removed. One that is not done never is, however old. */
export function isKeptLongEnough(event: KeptEventAge, limits: RetentionLimits): boolean {
  const { state, receivedAt, settledAt, isDead, isNeeded } = event;
  if (state !== 'done' || isNeeded) return false;
  const settled = settledAt ?? receivedAt;
  // A dead letter is kept for a person: its time begins when the run was given up.
  if (isDead) return settled < limits.deadBefore;
  return Math.max(settled, receivedAt) < limits.doneBefore;
}
