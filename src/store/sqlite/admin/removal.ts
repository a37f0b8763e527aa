import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import {
  type Sequence,
  bodyIdentity,
  callKey,
  digestIdentity,
  headerIdentity,
  newIdentityKey,
  signedHeaderIdentity,
  writeIdentityKey,
} from '../../event-record.ts';
import type { ErasureStep } from '../../retention-store.ts';
import { type RunTaken, runsThatBlocked } from '../../shared/changed-runs.ts';
import { fromEventsOfCall } from '../work/call-index.ts';
import { prepareUnblockNext } from '../work/unblock.ts';
import { asInteger } from '../connection/parameters.ts';

export interface Removable {
  readonly sequence: Sequence;
  readonly callId: string | null;
}

interface FoundEvent {
  readonly traceId: string;
  /** Null: it was delivered. */
  readonly source: string | null;
  /** The key of its call in the index of calls. */
  readonly key: number | null;
  readonly body: Buffer;
}

/** Removes events and all that belongs to them, inside the caller's transaction. */
export type Remove = (events: readonly Removable[], traceIdsUntil: number) => Omit<ErasureStep, 'hasMore'>;

/** Removes what the joins of a call remember, unless an event of the call is left. */
export type ForgetCall = (callId: string) => void;

/**
 * An event's runs and the count of its duplicates are removed with it, and what a call's joins remember with the call's
 * last event. Identities stay, so that a late copy is still a duplicate.
 */
export function prepareRemoval(database: Database.Database): { remove: Remove; forgetCall: ForgetCall } {
  const select = database.prepare(`
    select e.trace_id as traceId, e.source, e.call_key as key, b.body from events e join bodies b using (sequence)
    where e.sequence = ${asInteger('?')}`);
  const deleteIndexed = database.prepare(
    'delete from call_events where era = @sequence >> 16 and call_key = @key and sequence = @sequence',
  );
  const deleteFrom = ['waiting', 'claims', 'crash_counts', 'duplicates', 'failures', 'bodies', 'events'].map(
    (table) => database.prepare(`delete from ${table} where sequence = ?`),
  );
  const deleteRuns = database.prepare(
    'delete from runs where sequence = ? returning handler, call_id as callId, state',
  );
  const keepTombstone = database.prepare(`
    update identities set sequence = null, expires_at = @until
    where era in (@sequence >> 16, -1) and identity = @key and sequence = @sequence`);
  const count = database.prepare('update event_totals set events = events - ?');
  const anyJoin = database.prepare('select 1 from joins where call_id = ? limit 1');
  const anyOfCall = database.prepare(`select 1 ${fromEventsOfCall} limit 1`);
  const deleteJoins = database.prepare('delete from joins where call_id = ?');
  // Without a run, a join that was not called would wait for ever. A later event of the call opens it anew.
  const forgetWait = database.prepare('delete from joins where handler = ? and call_id = ? and seen is null');
  const unblockNext = prepareUnblockNext(database);

  const forgetCall = (callId: string): void => {
    // First, because this is fast, and most calls have no joins.
    if (anyJoin.get(callId) === undefined) return;
    if (anyOfCall.get({ key: callKey(callId), callId }) === undefined) deleteJoins.run(callId);
  };

  const key = newIdentityKey();
  const remove: Remove = (events, until) => {
    const traceIds: string[] = [];
    const runs: RunTaken[] = [];
    for (const { sequence } of events) {
      const found = select.get(sequence) as FoundEvent | undefined;
      if (!found) continue;
      for (const identity of possibleIdentities(found))
        keepTombstone.run({ until, key: writeIdentityKey(identity, key), sequence });
      if (found.key !== null) deleteIndexed.run({ key: found.key, sequence });
      runs.push(...(deleteRuns.all(sequence) as RunTaken[]));
      for (const statement of deleteFrom) statement.run(sequence);
      traceIds.push(found.traceId);
    }
    if (traceIds.length > 0) count.run(traceIds.length);
    for (const { callId, handler } of runs) if (callId !== null) forgetWait.run(handler, callId);
    // The rest of a large call is erased later, or never if the process ends: nothing else would unblock its runs.
    for (const { callId, handler } of runsThatBlocked(runs)) unblockNext(callId, handler);
    for (const callId of new Set(events.map((event) => event.callId))) {
      if (callId !== null) forgetCall(callId);
    }
    return { events: traceIds.length, runs: runs.length, traceIds };
  };
  return { remove, forgetCall };
}

/**
 * The identities that an event may have. An index of identities by event would cost every event more than this costs
 * the few that are removed.
 */
function possibleIdentities({ traceId, source, body }: FoundEvent): string[] {
  // See `reconciledIdentity`.
  if (source === 'reconciled') return [traceId];
  return [
    bodyIdentity(traceId),
    signedHeaderIdentity(traceId),
    headerIdentity(traceId),
    digestIdentity(hash('sha256', body, 'hex')),
  ];
}
