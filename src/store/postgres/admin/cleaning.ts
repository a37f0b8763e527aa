import { type KeptEventAge, isKeptLongEnough, joinNeedsCall } from '../../shared/kept-long-enough.ts';
import type { CleaningStep, EventCount, RetentionLimits } from '../../retention-store.ts';
import type { Sequence } from '../../event-record.ts';
import type { Session } from '../connection/session.ts';
import type { Transaction } from '../connection/transaction.ts';
import { eventState } from '../query/event-state.ts';
import { removeQuarantined } from './keep-delivery.ts';
import { lockEvents, lockReplaysAndRemovals, removeEvents } from './removal.ts';

/** The bounds of one step, whose transactions keep their locks until they end. */
const eventsAtOnce = 200;
const quarantinedAtOnce = 50;
const traceIdsAtOnce = 500;

interface EventRow extends KeptEventAge {
  readonly sequence: Sequence;
}

/** One step of cleaning. Each kind has a transaction of its own, so that none holds a lock while it waits for another. */
export async function clean(
  session: Session,
  limits: RetentionLimits,
  after: string | undefined,
): Promise<CleaningStep> {
  const { events, runs, last } = await cleanEvents(session, limits, after);
  const quarantined = await cleanQuarantine(session, limits);
  const traceIds = await forgetTraceIds(session, limits);
  const hasMore = quarantined === quarantinedAtOnce || traceIds === traceIdsAtOnce;
  const next = last ? `${last.receivedAt}:${last.sequence}` : hasMore ? (after ?? '-1:0') : undefined;
  return { events, runs, quarantined, traceIds, next };
}

/** `last`: the last event looked at, if there may be more. */
async function cleanEvents(
  session: Session,
  limits: RetentionLimits,
  after: string | undefined,
): Promise<EventCount & { readonly last: EventRow | undefined }> {
  const found = await oldest(session, limits, after);
  const last = found.length === eventsAtOnce ? found.at(-1) : undefined;
  const old = keptLongEnough(found, limits);
  // Most steps remove nothing, and need no lock.
  if (old.length === 0) return { events: 0, runs: 0, last };
  return session.write(async (transaction) => {
    await lockReplaysAndRemovals(transaction);
    // Decided again under the locks: a join may have looked back, and now wait with a run of one of the events.
    await lockEvents(transaction, old);
    const now = new Set(keptLongEnough(await oldest(transaction, limits, after), limits));
    const stillOld = old.filter((sequence) => now.has(sequence));
    return { ...(await removeEvents(transaction, stillOld, limits.traceIdsUntil)), last };
  });
}

const keptLongEnough = (events: readonly EventRow[], limits: RetentionLimits): readonly Sequence[] =>
  events.filter((event) => isKeptLongEnough(event, limits)).map(({ sequence }) => sequence);

async function cleanQuarantine(session: Session, { quarantineBefore }: RetentionLimits): Promise<number> {
  const old = await session.query<{ id: number }>(
    `select id from ringback.quarantine where received_at < $1 order by received_at limit ${quarantinedAtOnce}`,
    [quarantineBefore],
  );
  if (old.length === 0) return 0;
  return removeQuarantined(
    session,
    old.map(({ id }) => id),
  );
}

/**
 * Skips what another process is forgetting at the same time. The choice is materialized: as a subquery, it could be run
 * again for each row, and choose other rows than those already deleted.
 */
async function forgetTraceIds(session: Session, { now }: RetentionLimits): Promise<number> {
  const forgotten = await session.query(
    `with expired as materialized (
       select identity from ringback.identities where expires_at <= $1
       order by expires_at limit ${traceIdsAtOnce} for update skip locked)
     delete from ringback.identities i using expired where i.identity = expired.identity returning 1`,
    [now],
  );
  return forgotten.length;
}

const isNeeded = joinNeedsCall((name) => `ringback.${name}`, '$4');

function oldest(
  transaction: Transaction,
  { doneBefore, deadBefore }: RetentionLimits,
  after: string | undefined,
): Promise<EventRow[]> {
  const [receivedAt = -1, sequence = 0] = after?.split(':').map(Number) ?? [];
  return transaction.query<EventRow>(
    `select sequence, ${eventState} as state, received_at as "receivedAt",
       (select max(settled_at) from ringback.runs r where r.sequence = e.sequence) as "settledAt",
       exists (select from ringback.runs r where r.sequence = e.sequence and r.state = 'dead') as "isDead",
       ${isNeeded} as "isNeeded"
     from ringback.events e where (received_at, sequence) > ($1, $2) and received_at < $3
     order by received_at, sequence limit ${eventsAtOnce}`,
    [receivedAt, sequence, Math.max(doneBefore, deadBefore), deadBefore],
  );
}
