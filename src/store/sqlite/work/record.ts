import type Database from 'better-sqlite3';
import {
  type EventRecord,
  type Sequence,
  callKey,
  newIdentityKey,
  writeIdentityKey,
} from '../../event-record.ts';
import { type EarlierIdentities, eraOf } from '../dedupe/eras.ts';
import { type SequenceTotals, prepareCallIndex } from './call-index.ts';
import { byCall, isOpen } from './open-runs.ts';
import type { Processes } from './processes.ts';
import { hasReconciled, prepareReconciling } from './reconciling.ts';
import { prepareCallsOfOthers } from './claim.ts';
import { rowNotKept } from '../../shared/altered-rows.ts';
import { type Recorded, duplicate } from '../../shared/found-work.ts';

/** An event as it is written. */
export interface EventRow {
  readonly traceId: string;
  readonly identity: string;
  readonly lookup: string | null;
  /** Null: it was delivered. */
  readonly source: 'reconciled' | null;
  readonly eventName: string;
  readonly callId: string | null;
  readonly organizationId: string | null;
  readonly agentId: string | null;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly headers: string;
  /** JSON, without the agent's id, which has a column of its own. */
  readonly facts: string;
  readonly body: Uint8Array;
  /** Whether the same write claims the event, unless others go before it: this process has room to handle it at once. */
  readonly mayClaim: boolean;
}

export function eventRow(record: EventRecord, mayClaim: boolean): EventRow {
  const { agentId, ...facts } = record.facts;
  return {
    traceId: record.traceId,
    identity: record.identity,
    lookup: record.lookup ?? null,
    source: record.source === 'delivered' ? null : record.source,
    eventName: record.eventName,
    callId: record.callId ?? null,
    organizationId: record.organizationId ?? null,
    agentId: agentId ?? null,
    occurredAt: record.occurredAt,
    receivedAt: record.receivedAt,
    headers: JSON.stringify(record.headers),
    facts: JSON.stringify(facts),
    body: record.body,
    mayClaim,
  };
}

/** This process, as far as recording needs it. */
type OwnProcess = Pick<Processes, 'id' | 'ensureEntered'>;

/** What decides on whether events are claimed at once, as SQLite has it: 0 or 1. */
type Found = Readonly<Record<'isAnyWaiting' | 'isAnyOpen' | 'isEntered' | 'hasOthers', number>>;

/**
 * Writes events and their identities, inside the caller's transaction. The identities' primary key decides on
 * duplicates. What all rows share, such as the totals, is read and written once. `isFirst`: whether the transaction has
 * recorded nothing before, so that the last sequence is a committed one.
 */
export function prepareRecord(
  database: Database.Database,
  processes: OwnProcess,
  earlier: EarlierIdentities,
) {
  const reserve = database.prepare(`
    update event_totals set last_sequence = last_sequence + ?
    returning last_sequence as last, indexed_sequence as indexed, ${hasReconciled} as hasReconciled`);
  const conclude = database.prepare(
    'update event_totals set events = events + @recorded, last_sequence = @last',
  );
  const insertEvent = database.prepare('insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const insertBody = database.prepare('insert into bodies values (?, ?, ?)');
  const insertIdentity = database.prepare(
    'insert into identities (era, identity, sequence) values (?, ?, ?) on conflict do nothing',
  );
  const hasIdentity = database.prepare('select 1 from identities where era = ? and identity = ?');
  // What a copy has just added to the current era must not stay: it would outlive the event's own, which expires.
  const deleteIdentity = database.prepare(
    'delete from identities where era = ? and identity = ? and sequence = ?',
  );
  const claimOrWait = prepareClaimsAtOnce(database, processes);
  const reconciling = prepareReconciling(database, earlier);
  const indexCalls = prepareCallIndex(database);
  const key = newIdentityKey();

  const isNew = (identity: string, sequence: Sequence): boolean => {
    const era = eraOf(sequence);
    writeIdentityKey(identity, key);
    if (insertIdentity.run(era, key, sequence).changes === 0) {
      // What is a duplicate has a row here.
      if (hasIdentity.get(era, key) === undefined) throw rowNotKept('identities');
      return false;
    }
    if (earlier.find(key, era) === undefined) return true;
    deleteIdentity.run(era, key, sequence);
    return false;
  };

  const insert = (row: EventRow, sequence: Sequence): void => {
    const { callId } = row;
    const ofEvent = insertEvent.run(
      sequence,
      row.traceId,
      row.eventName,
      callId,
      callId === null ? null : callKey(callId),
      row.organizationId,
      row.agentId,
      row.occurredAt,
      row.receivedAt,
      row.facts,
      row.source,
    );
    if (ofEvent.changes === 0) throw rowNotKept('events');
    if (insertBody.run(sequence, row.headers, row.body).changes === 0) throw rowNotKept('bodies');
    // If another event has this key, that one keeps it: it decides nothing.
    if (row.lookup === null) return;
    writeIdentityKey(row.lookup, key);
    insertIdentity.run(eraOf(sequence), key, sequence);
  };

  return (rows: readonly EventRow[], isFirst = true): Recorded[] => {
    // Many groups only end claims: they don't write the totals.
    if (rows.length === 0) return [];
    // Also changes a page if there are only duplicates, which has the commit synced: a process that has died may have left
    // in the WAL what they are copies of.
    const totals = reserve.get(rows.length) as SequenceTotals & { readonly hasReconciled: number };
    let isAnyReconciled = totals.hasReconciled === 1;
    const lastBefore = totals.last - rows.length;
    let last = lastBefore;
    const sequences: (Sequence | undefined)[] = [];
    for (const row of rows) {
      // A duplicate leaves it to the next event: whoever has a copy of a delivery could otherwise use up an era in seconds,
      // and each era with an event has a filter in memory.
      const sequence = last + 1;
      const isDelivered = row.source === null;
      const isKnown = isDelivered
        ? isAnyReconciled && reconciling.wasReconciled(row, sequence)
        : reconciling.wasDelivered(row, sequence);
      const isRecorded = !isKnown && isNew(row.identity, sequence);
      sequences.push(isRecorded ? sequence : undefined);
      if (!isRecorded) continue;
      insert(row, sequence);
      if (!isDelivered) reconciling.note();
      isAnyReconciled ||= !isDelivered;
      last = sequence;
    }
    conclude.run({ recorded: last - lastBefore, last });
    indexCalls({ ...totals, last });
    if (isFirst) earlier.keepUp(lastBefore);
    return claimOrWait(rows, sequences);
  };
}

/**
 * Claims events in the write that records them, or has them wait if something goes before them: any unclaimed event, an
 * open run of their call, or work of another process on their call. Duplicates have no sequence.
 */
function prepareClaimsAtOnce(database: Database.Database, processes: OwnProcess) {
  const found = database.prepare(`select exists (select 1 from waiting) as isAnyWaiting,
    exists (select 1 from runs ${byCall} where ${isOpen}) as isAnyOpen,
    exists (select 1 from processes where id = @id) as isEntered,
    exists (select 1 from processes where id <> @id) as hasOthers`);
  const openOfCall = database.prepare(`select 1 from runs ${byCall} where call_id = ? and ${isOpen} limit 1`);
  const callsOfOthers = prepareCallsOfOthers(database);
  const insertWaiting = database.prepare('insert into waiting values (?)');
  const insertClaim = database.prepare('insert into claims values (?, ?)');

  return (rows: readonly EventRow[], sequences: readonly (Sequence | undefined)[]): Recorded[] => {
    const { isAnyWaiting, isAnyOpen, isEntered, hasOthers } = found.get({ id: processes.id }) as Found;
    // Once one event waits, every later one has a waiting event before it.
    let isClaimed = isAnyWaiting === 0;
    const ofOthers = hasOthers === 1 ? callsOfOthers(processes.id) : undefined;
    const recorded: Recorded[] = [];
    for (const [index, { mayClaim, callId }] of rows.entries()) {
      const sequence = sequences[index];
      if (sequence === undefined) {
        recorded.push(duplicate);
        continue;
      }
      if (!mayClaim || ofOthers?.has(callId)) isClaimed = false;
      if (isClaimed && isAnyOpen === 1 && callId !== null && openOfCall.get(callId)) isClaimed = false;
      if (isClaimed && isEntered === 0) processes.ensureEntered();
      const { changes } = isClaimed ? insertClaim.run(sequence, processes.id) : insertWaiting.run(sequence);
      if (changes === 0) throw rowNotKept(isClaimed ? 'claims' : 'waiting');
      recorded.push({ sequence, claimedBy: isClaimed ? processes.id : undefined });
    }
    return recorded;
  };
}
