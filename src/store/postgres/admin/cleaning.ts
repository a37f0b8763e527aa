import type { EventState } from '../../event-store.ts';
import type { CleaningStep, RetentionLimits } from '../../retention-store.ts';
import type { Transaction } from '../connection/session.ts';
import { eventState } from '../query/event-state.ts';
import { removeEvents } from './removal.ts';

/** What one step looks at and removes at the most: it is one transaction, which keeps what it locks until it ends. */
const eventsAtOnce = 200;
const quarantinedAtOnce = 50;
const traceIdsAtOnce = 500;

interface EventRow {
  readonly sequence: number;
  readonly state: EventState;
  readonly received_at: number;
  readonly settled_at: number | null;
  readonly is_dead: boolean;
}

/** One step of cleaning. */
export async function clean(
  transaction: Transaction,
  limits: RetentionLimits,
  after: string | undefined,
): Promise<CleaningStep> {
  const events = await oldest(transaction, limits, after);
  const last = events.length === eventsAtOnce ? events.at(-1) : undefined;
  const old = events.filter((event) => mayGo(event, limits)).map(({ sequence }) => sequence);
  const removed = await removeEvents(transaction, old, limits.traceIdsUntil);
  const quarantined = await transaction.query(
    `delete from ringback.quarantine where id in (
       select id from ringback.quarantine where received_at < $1 order by received_at limit ${quarantinedAtOnce})
     returning 1`,
    [limits.quarantineBefore],
  );
  const traceIds = await transaction.query(
    `delete from ringback.identities where identity in (
       select identity from ringback.identities where expires_at <= $1 order by expires_at limit ${traceIdsAtOnce})
     returning 1`,
    [limits.now],
  );
  const hasMore = quarantined.length === quarantinedAtOnce || traceIds.length === traceIdsAtOnce;
  const next = last ? `${last.received_at}:${last.sequence}` : hasMore ? (after ?? '-1:0') : undefined;
  return { ...removed, quarantined: quarantined.length, traceIds: traceIds.length, next };
}

function oldest(
  transaction: Transaction,
  { doneBefore, deadBefore }: RetentionLimits,
  after: string | undefined,
): Promise<EventRow[]> {
  const [receivedAt = -1, sequence = 0] = after?.split(':').map(Number) ?? [];
  return transaction.query<EventRow>(
    `select sequence, ${eventState} as state, received_at,
       (select max(settled_at) from ringback.runs r where r.sequence = e.sequence) as settled_at,
       exists (select from ringback.runs r where r.sequence = e.sequence and r.state = 'dead') as is_dead
     from ringback.events e where (received_at, sequence) > ($1, $2) and received_at < $3
     order by received_at, sequence limit ${eventsAtOnce}`,
    [receivedAt, sequence, Math.max(doneBefore, deadBefore)],
  );
}

function mayGo(event: EventRow, limits: RetentionLimits): boolean {
  if (event.state !== 'done') return false;
  const settled = event.settled_at ?? event.received_at;
  // A dead letter is kept for a person, and its time begins when it was given up.
  if (event.is_dead) return settled < limits.deadBefore;
  return Math.max(settled, event.received_at) < limits.doneBefore;
}
