import type Database from 'better-sqlite3';
import type { EventRecord } from '../event-record.ts';
import type { Sequence } from '../run-key.ts';
import { type SequenceTotals, prepareCallIndex } from './call-index.ts';
import { eraOf } from './eras.ts';
import { writeHeaders } from './headers-text.ts';
import { type EarlierIdentities, prepareLookThrough } from './identities/earlier-identities.ts';
import { callKey, identityKey } from './keys.ts';
import { byCall, isOpen } from './open-runs.ts';
import type { Holder } from './processes.ts';
import { prepareTakenCalls } from './taken-calls.ts';

/** An event as it is written. */
export interface EventRow {
  readonly traceId: string;
  readonly identities: readonly string[];
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
  /** Whether this process would handle it at once: then it is claimed with the same write, if nothing goes before it. */
  readonly isWanted: boolean;
}

/** What the write decided: a duplicate has no sequence. */
export interface RecordedRow {
  readonly sequence: Sequence | undefined;
  readonly isClaimed: boolean;
}

/** The row of an event. */
export function eventRow(record: EventRecord, isWanted: boolean): EventRow {
  const { agentId, ...facts } = record.facts;
  return {
    traceId: record.traceId,
    identities: record.identities,
    eventName: record.eventName,
    callId: record.callId ?? null,
    organizationId: record.organizationId ?? null,
    agentId: agentId ?? null,
    occurredAt: record.occurredAt,
    receivedAt: record.receivedAt,
    headers: writeHeaders(record.headers, record),
    facts: JSON.stringify(facts),
    body: record.body,
    isWanted,
  };
}

const duplicate: RecordedRow = { sequence: undefined, isClaimed: false };

/**
 * Writes events and everything they are recognized by, inside a transaction of the caller's; the identities' primary
 * key decides on duplicates. What a row shares with the others is asked and written once for all of them.
 */
export function prepareRecord(database: Database.Database, holder: Holder, earlier: EarlierIdentities) {
  const reserve = database.prepare(`
    update event_totals set last_sequence = last_sequence + ?
    returning last_sequence as last, indexed_sequence as indexed`);
  const count = database.prepare('update event_totals set events = events + ?');
  const insertEvent = database.prepare('insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const insertBody = database.prepare('insert into bodies values (?, ?, ?)');
  const insertIdentity = database.prepare(
    'insert into identities (era, identity, sequence) values (?, ?, ?) on conflict do nothing',
  );
  // Identities that came with the copy must not stay: under them a later, different event would be taken
  // for a duplicate, and the part of an identity that is not signed is the sender's to choose.
  const deleteIdentity = database.prepare(
    'delete from identities where era = ? and identity = ? and sequence = ?',
  );
  const insertWaiting = database.prepare('insert into waiting values (?)');
  const insertClaim = database.prepare('insert into claims values (?, ?)');
  const mayClaim = prepareMayClaim(database, holder);
  const indexCalls = prepareCallIndex(database);

  const isNew = (identities: readonly string[], sequence: Sequence): boolean => {
    const era = eraOf(sequence);
    const keys = identities.map(identityKey);
    const isNewKey = (key: Buffer): boolean =>
      insertIdentity.run(era, key, sequence).changes === 1 && !earlier.has(key, era);
    if (keys.every(isNewKey)) return true;
    for (const key of keys) deleteIdentity.run(era, key, sequence);
    return false;
  };

  const insert = (row: EventRow, sequence: Sequence): void => {
    const { callId } = row;
    insertEvent.run(
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
    );
    insertBody.run(sequence, row.headers, row.body);
  };

  return (rows: readonly EventRow[]): RecordedRow[] => {
    // Many groups only end what was claimed: they would write the totals for nothing.
    if (rows.length === 0) return [];
    const claimable = mayClaim();
    const totals = reserve.get(rows.length) as SequenceTotals;
    const lastCommitted = totals.last - rows.length;
    let sequence = lastCommitted;
    let recorded = 0;
    const results = rows.map((row) => {
      sequence += 1;
      if (!isNew(row.identities, sequence)) return duplicate;
      insert(row, sequence);
      recorded += 1;
      const isClaimed = claimable(row);
      if (isClaimed) insertClaim.run(sequence, holder.id);
      else insertWaiting.run(sequence);
      return { sequence, isClaimed };
    });
    if (recorded > 0) count.run(recorded);
    indexCalls(totals);
    earlier.written(rows.length, lastCommitted);
    return results;
  };
}

/** Writes one event. */
export function prepareRecordOne(
  database: Database.Database,
  holder: Holder,
): (row: EventRow) => RecordedRow {
  const record = prepareRecord(database, holder, prepareLookThrough(database));
  return (row) => record([row])[0] ?? duplicate;
}

/**
 * Whether an event may be claimed as it is written. Not when others go before it: events that nobody has claimed yet,
 * runs of its call that are not settled, or an event of its call that another process works on.
 */
function prepareMayClaim(database: Database.Database, holder: Holder) {
  const isAnyWaiting = database.prepare('select 1 from waiting limit 1');
  const isAnyOpen = database.prepare(`select 1 from runs ${byCall} where ${isOpen} limit 1`);
  const openOfCall = database.prepare(`select 1 from runs ${byCall} where call_id = ? and ${isOpen} limit 1`);
  const takenCalls = prepareTakenCalls(database);

  return () => {
    let asked: { isAnyOpen: boolean; taken: ReadonlySet<unknown> } | undefined;
    let isAnyBefore: boolean | undefined;

    return ({ isWanted, callId }: EventRow): boolean => {
      isAnyBefore ??= isAnyWaiting.get() !== undefined;
      if (!isWanted || isAnyBefore) {
        // Whatever comes after it comes after an event that waits.
        isAnyBefore = true;
        return false;
      }
      if (!asked) {
        holder.ensureEntered();
        asked = {
          isAnyOpen: isAnyOpen.get() !== undefined,
          taken: takenCalls(holder.id),
        };
      }
      if (callId === null) return true;
      if (asked.isAnyOpen && openOfCall.get(callId)) isAnyBefore = true;
      if (asked.taken.has(callId)) isAnyBefore = true;
      return !isAnyBefore;
    };
  };
}
