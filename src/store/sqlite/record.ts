import type Database from 'better-sqlite3';
import type { Sequence } from '../run-key.ts';
import type { EventRecord } from '../event-record.ts';

/** Writes an event and everything it is recognized by; the identities' primary key decides on duplicates. */
export function prepareRecord(
  database: Database.Database,
  updateCall: (callId: string) => void,
): (record: EventRecord) => 'new' | 'duplicate' {
  const insertEvent = database.prepare(`
    insert into events (trace_id, event_name, call_id, organization_id, agent_id, occurred_at, received_at, headers, facts, body)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertIdentity = database.prepare(
    'insert into identities (identity, sequence) values (?, ?) on conflict do nothing',
  );
  const deleteEvent = database.prepare('delete from events where sequence = ?');
  // Identities that came with the copy must not stay: under them a later, different event would be taken
  // for a duplicate, and the part of an identity that is not signed is the sender's to choose.
  const deleteIdentities = database.prepare('delete from identities where identity = ? and sequence = ?');

  const insert = (record: EventRecord): Sequence =>
    Number(
      insertEvent.run(
        record.traceId,
        record.eventName,
        record.callId ?? null,
        record.organizationId ?? null,
        record.facts.agentId ?? null,
        record.occurredAt,
        record.receivedAt,
        JSON.stringify(record.headers),
        JSON.stringify(record.facts),
        record.body,
      ).lastInsertRowid,
    );

  return (record) => {
    const sequence = insert(record);
    const isNew = record.identities.every((identity) => insertIdentity.run(identity, sequence).changes === 1);
    if (isNew) {
      if (record.callId !== undefined) updateCall(record.callId);
      return 'new';
    }
    for (const identity of record.identities) deleteIdentities.run(identity, sequence);
    deleteEvent.run(sequence);
    return 'duplicate';
  };
}
