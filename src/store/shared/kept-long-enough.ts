import type { EventState } from '../event-store.ts';
import type { RetentionLimits } from '../retention-store.ts';

/** What decides whether an event has been kept long enough. Times in milliseconds since 1970. */
export interface KeptEventAge {
  readonly state: EventState;
  readonly receivedAt: number;
  /** When the last of its stored runs was settled, if it has any. */
  readonly settledAt: number | null;
  readonly isDead: boolean;
}

/** Whether an event may be removed: never one that is not done, however old it is. */
export function isKeptLongEnough(event: KeptEventAge, limits: RetentionLimits): boolean {
  const { state, receivedAt, settledAt, isDead } = event;
  if (state !== 'done') return false;
  const settled = settledAt ?? receivedAt;
  // A dead letter is kept for a person, and its time begins when it was given up.
  if (isDead) return settled < limits.deadBefore;
  return Math.max(settled, receivedAt) < limits.doneBefore;
}
