import type { Sequence } from '../../event-record.ts';
import type { ErasureStep } from '../../retention-store.ts';
import { type RunTaken, runsThatBlocked } from '../../shared/changed-runs.ts';
import type { Transaction } from '../connection/transaction.ts';
import { unblockNext } from '../work/unblock.ts';

/**
 * Locks out other removals, and replays. Call it first in the transaction: two removals could deadlock on each other's
 * rows, and an event whose run was just requeued is no longer done.
 */
export async function lockReplaysAndRemovals(transaction: Transaction): Promise<void> {
  await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.replays', 0))");
}

/**
 * Locks events: a transaction that stores a run of one has committed then, or waits for the removal and stores nothing.
 */
export async function lockEvents(transaction: Transaction, sequences: readonly Sequence[]): Promise<void> {
  await transaction.query(
    'select 1 from ringback.events where sequence = any ($1) order by sequence for update',
    [sequences],
  );
}

/**
 * Removes events and all that belongs to them. Their identities stay, so that a late copy is still a duplicate. What a
 * call's joins remember is removed with the call's last event. Call `lockReplaysAndRemovals` first.
 */
export async function removeEvents(
  transaction: Transaction,
  sequences: readonly Sequence[],
  traceIdsUntil: number,
): Promise<Omit<ErasureStep, 'hasMore'>> {
  if (sequences.length === 0) return { events: 0, runs: 0, traceIds: [] };
  await lockEvents(transaction, sequences);
  await transaction.query(
    'update ringback.identities set sequence = null, expires_at = $2 where sequence = any ($1)',
    [sequences, traceIdsUntil],
  );
  // In the order of a call, in which a settlement locks too: it goes from a run to the next one.
  await transaction.query(
    'select 1 from ringback.runs where sequence = any ($1) order by sequence, handler for update',
    [sequences],
  );
  const runs = await transaction.query<RunTaken>(
    'delete from ringback.runs where sequence = any ($1) returning handler, call_id as "callId", state',
    [sequences],
  );
  await forgetWaits(transaction, runs);
  // The rest of a large call is erased later, or never if the process ends: nothing else would unblock its runs.
  for (const { callId, handler } of runsThatBlocked(runs)) await unblockNext(transaction, callId, handler);
  for (const table of ['waiting', 'claims', 'crash_counts', 'duplicates', 'failures', 'bodies'])
    await transaction.query(`delete from ringback.${table} where sequence = any ($1)`, [sequences]);
  const events = await transaction.query<{ call_id: string | null; trace_id: string }>(
    'delete from ringback.events where sequence = any ($1) returning call_id, trace_id',
    [sequences],
  );
  const calls = new Set(events.map(({ call_id: callId }) => callId).filter((callId) => callId !== null));
  await forgetCalls(transaction, [...calls]);
  const traceIds = events.map(({ trace_id: traceId }) => traceId);
  return { events: events.length, runs: runs.length, traceIds };
}

/**
 * Forgets joins that waited with one of these runs and were not called: without a run they would wait for ever. A later
 * event of the call opens them anew.
 */
async function forgetWaits(transaction: Transaction, runs: readonly RunTaken[]): Promise<void> {
  const ofCalls = runs.filter(({ callId }) => callId !== null);
  if (ofCalls.length === 0) return;
  await transaction.query(
    `delete from ringback.joins j using unnest($1::text[], $2::text[]) r (handler, call_id)
     where j.handler = r.handler and j.call_id = r.call_id and seen is null`,
    [ofCalls.map(({ handler }) => handler), ofCalls.map(({ callId }) => callId)],
  );
}

/** Forgets what joins remember of calls without events. */
export async function forgetCalls(transaction: Transaction, calls: readonly string[]): Promise<void> {
  await transaction.query(
    `delete from ringback.joins j where call_id = any ($1) and not exists (
       select from ringback.events e where e.call_id = j.call_id)`,
    [calls],
  );
}
