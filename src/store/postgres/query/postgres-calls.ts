import type { PoolClient } from 'pg';
import { type CallEventRow, callRecordOf } from '../../../calls/timeline.ts';
import {
  type EventFactsRow,
  type ListedCall,
  callEventOf,
  callPageOf,
  matchesCall,
  namesAmong,
} from '../../shared/call-rows.ts';
import { numberIn } from '../../shared/cursor.ts';
import { type KeptJoinRow, keptJoinOf } from '../../shared/join-progress.ts';
import { type SearchRange, windowOf } from '../../shared/event-rows.ts';
import type { CallFilter, CallStore } from '../../call-store.ts';
import type { Sequence } from '../../event-record.ts';
import type { Session } from '../connection/session.ts';
import type { Transaction } from '../connection/transaction.ts';
import { holdsRun } from '../work/holding.ts';
import { lookBack, noteSeen } from '../work/joins.ts';
import { claimOnEvent } from '../../shared/claimed-work.ts';
import { foundOf } from './event-search.ts';
import { firstSequenceSince, lastSequence } from './kept-events.ts';

/** How many calls one look computes at most: their events are in memory together. */
const callsAtOnce = 50;
/** How many events one look goes through at most, so that no statement takes long. */
const eventsAtOnce = 20_000;

/** Calls and joins in Postgres. A call is not stored, but computed from its events when somebody asks. */
export function callsOn(session: Session): CallStore {
  return {
    eventsOf: (callId, transaction) =>
      eventsOf(transaction === undefined ? session : session.on(transaction as PoolClient), callId),

    async joinsOf(callId) {
      const rows = await session.query<KeptJoinRow>(
        'select handler, seen, progress from ringback.joins where call_id = $1 order by handler',
        [callId],
      );
      return rows.map(keptJoinOf);
    },

    /** In several looks, because a filter with few matches has to go through many events. */
    async list(filter) {
      // One more than asked for shows whether there is another page.
      const wanted = filter.limit + 1;
      const found: ListedCall[] = [];
      const before = numberIn('calls', filter.cursor) ?? Infinity;
      // A cursor of another inbox may lie far behind the last event: the search would go through empty ranges for days.
      let to = Math.min(await lastSequence(session), before - 1);
      // No matching call begins before the first event that arrived since then.
      const { since } = filter;
      const lowest = since === undefined ? 1 : ((await firstSequenceSince(session, since)) ?? Infinity);
      while (to >= lowest && found.length < wanted) {
        filter.signal?.throwIfAborted();
        const range = { from: lowest, to, limit: callsAtOnce, latestFirst: true };
        const look = windowOf(range, eventsAtOnce);
        const firsts = await firstEvents(session, filter, look);
        const events = await eventsOfAll(
          session,
          firsts.map(({ callId }) => callId),
        );
        for (const { sequence, callId } of firsts) {
          const call = callRecordOf(callId, events.get(callId) ?? []);
          if (matchesCall(call, filter)) found.push({ sequence, call });
        }
        const { reached } = await foundOf(
          session,
          range,
          look,
          firsts.map(({ sequence }) => sequence),
        );
        to = reached - 1;
      }
      return callPageOf(found, filter.limit);
    },

    noteSeen: (run, events) =>
      session.write(async (transaction) => {
        const { handler, callId = '' } = run;
        if (!(await holdsRun(transaction, { ...claimOnEvent(run), handler }))) return undefined;
        let rows: readonly CallEventRow[] = [];
        const hasSeenAll = await noteSeen(transaction, { handler, callId }, async () => {
          rows = await eventsOf(transaction, callId);
          return namesAmong(rows, events);
        });
        // If the events have been erased meanwhile, there is nothing left to see.
        return { events: rows, isSettled: hasSeenAll || rows.length === 0 };
      }),

    lookBack: (join) => lookBack(session, join, session.clock.now()),
  };
}

async function eventsOf(transaction: Transaction, callId: string): Promise<readonly CallEventRow[]> {
  return (await eventsOfAll(transaction, [callId])).get(callId) ?? [];
}

/** The events of some calls, each in order of arrival. */
async function eventsOfAll(
  transaction: Transaction,
  callIds: readonly string[],
): Promise<Map<string, CallEventRow[]>> {
  const rows = await transaction.query<EventFactsRow & { readonly call_id: string }>(
    `select call_id, event_name, trace_id, organization_id, agent_id, occurred_at, received_at, facts
     from ringback.events where call_id = any ($1) order by sequence`,
    [callIds],
  );
  const events = new Map<string, CallEventRow[]>(callIds.map((callId) => [callId, []]));
  for (const row of rows) events.get(row.call_id)?.push(callEventOf(row));
  return events;
}

/** The first events of calls. Its conditions only save computing calls: `matchesCall` decides. */
async function firstEvents(
  session: Session,
  { since, until, agentId }: CallFilter,
  { from, to, limit }: SearchRange,
) {
  const ofCall = 'select from ringback.events o where o.call_id = e.call_id';
  const rows = await session.query<{ readonly sequence: Sequence; readonly call_id: string }>(
    `select sequence, call_id from ringback.events e
     where sequence between $1 and $2 and call_id is not null and ($4::bigint is null or received_at >= $4)
       and not exists (${ofCall} and o.sequence < e.sequence)
       and ($5::bigint is null or exists (${ofCall} and o.received_at < $5))
       and ($6::text is null or exists (${ofCall} and o.agent_id = $6))
     order by sequence desc limit $3`,
    [from, to, limit, since ?? null, until ?? null, agentId ?? null],
  );
  return rows.map(({ sequence, call_id: callId }) => ({ sequence, callId }));
}
