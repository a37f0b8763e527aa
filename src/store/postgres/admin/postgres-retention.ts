import type { EventCount, RetentionStore } from '../../retention-store.ts';
import { type Sequence, erasedIdentity, identityKey } from '../../event-record.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { isUnused } from '../work/failures.ts';
import { clean } from './cleaning.ts';
import { removeQuarantined } from './keep-delivery.ts';
import { look } from './look.ts';
import { forgetCalls, lockReplaysAndRemovals, removeEvents } from './removal.ts';

/** How many events one step erases at most. */
const atOnce = 200;

/** SQL: no run is in the group of failures, whose message may quote a removed event. */
const mayQuoteRemoved = `message <> '' and ${isUnused}`;

/** Retention and erasure in Postgres, where vacuum removes deleted rows from the files. */
export const retentionOn = (session: Session): RetentionStore => ({
  clean: (limits, after) => clean(session, limits, after),
  look: (where, after) => look(session, where, after),
  countCall: (callId) => count(session, 'call_id = $1', callId),
  countEvents: (sequences) => count(session, 'sequence = any ($1)', sequences),

  eraseCall: (callId, traceIdsUntil, last) =>
    session.write(async (transaction) => {
      await lockReplaysAndRemovals(transaction);
      // As a delivery does: an event reconciled at this moment would see neither the call's key nor what is removed.
      await transaction.query(
        "select pg_advisory_xact_lock_shared(hashtextextended('ringback.reconciling', 0))",
      );
      const events = await transaction.query<{ sequence: Sequence }>(
        `select sequence from ringback.events where call_id = $1 and sequence is distinct from $2
         order by sequence limit ${atOnce}`,
        [callId, last ?? null],
      );
      const hasMore = events.length === atOnce;
      const sequences = events.map(({ sequence }) => sequence);
      if (!hasMore && last !== undefined) sequences.push(last);
      const removed = await removeEvents(transaction, sequences, traceIdsUntil);
      if (events.length === 0) await forgetCalls(transaction, [callId]);
      await transaction.query(
        `insert into ringback.identities values ($1, null, $2)
         on conflict (identity) do update set expires_at = excluded.expires_at`,
        [identityKey(erasedIdentity(callId)), traceIdsUntil],
      );
      return { ...removed, hasMore };
    }),

  async eraseEvents(sequences, traceIdsUntil) {
    const removed = await session.write(async (transaction) => {
      await lockReplaysAndRemovals(transaction);
      return removeEvents(transaction, sequences, traceIdsUntil);
    });
    return { ...removed, hasMore: false };
  },

  eraseQuarantined: (ids) => removeQuarantined(session, ids),

  clearUnusedGroups: () =>
    session.write(async (transaction) => {
      // Waits for runs that are just failing in one of these ways; the next statement sees them.
      const unused = await transaction.query<{ id: number }>(
        `select id from ringback.failure_groups where ${mayQuoteRemoved} order by id for update`,
      );
      if (unused.length === 0) return;
      await transaction.query(
        `update ringback.failure_groups set message = '' where id = any ($1) and ${mayQuoteRemoved}`,
        [unused.map(({ id }) => id)],
      );
    }),

  async eraseFailureGroups(ids) {
    await session.query("update ringback.failure_groups set message = '' where id = any ($1)", [ids]);
  },

  async eraseAudit(ids) {
    await session.query(
      "update ringback.audit set requested_by = null, reason = null, what = '' where id = any ($1)",
      [ids],
    );
  },
});

function count(session: Session, condition: string, value: unknown): Promise<EventCount> {
  return oneRow(
    session,
    `select count(*) as events, coalesce(sum((
       select count(*) from ringback.runs r where r.sequence = e.sequence)), 0)::bigint as runs
     from ringback.events e where ${condition}`,
    [value],
  );
}
