import { identityKey } from '../../shared/identity-key.ts';
import type { EventRecord } from '../../event-record.ts';
import { toText, toTextOrNull } from '../connection/text.ts';
import type { Transaction } from '../connection/transaction.ts';

/** What the recording of an event decided. */
export interface Recorded {
  /** Undefined: the event is a duplicate. */
  readonly sequence: number | undefined;
  readonly isClaimed: boolean;
}

/** An event to be recorded, and whether the process that records it may claim it. */
export interface EventToRecord {
  readonly record: EventRecord;
  readonly mayClaim: boolean;
}

/** Who records: a process, and how often it has recovered. */
export interface Recorder {
  readonly id: number;
  readonly recoveries: number;
}

interface RecordedRow {
  readonly place: number;
  readonly sequence: number;
  readonly is_claimed: boolean;
}

const recordEvents = `
  select place, sequence, is_claimed from ringback.record_events(
    $1, $2, $3::bytea[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
    $11::bigint[], $12::text[], $13::text[], $14::bytea[], $15::boolean[])`;

const duplicate: Recorded = { sequence: undefined, isClaimed: false };

/**
 * Records events, in one statement. Each must have one identity; see `recordOne` for those that have several. With
 * `recorder` undefined nothing is claimed.
 */
export async function recordGroup(
  transaction: Transaction,
  events: readonly EventToRecord[],
  recorder: Recorder | undefined,
): Promise<Recorded[]> {
  const rows = await transaction.query<RecordedRow>(recordEvents, [
    recorder?.id ?? null,
    recorder?.recoveries ?? null,
    ...columnsOf(events),
  ]);
  const results = events.map(() => duplicate);
  for (const { place, sequence, is_claimed: isClaimed } of rows) results[place - 1] = { sequence, isClaimed };
  return results;
}

/** Records an event that has several identities: one of them that is known makes it a duplicate, and the others stay free. */
export async function recordOne(
  transaction: Transaction,
  event: EventToRecord,
  recorder: Recorder | undefined,
): Promise<Recorded> {
  const [first, ...others] = event.record.identities;
  if (first === undefined) throw new Error('An event needs an identity.');
  if (others.length > 0 && (await isKnown(transaction, event.record.identities))) return duplicate;
  const [recorded = duplicate] = await recordGroup(transaction, [event], recorder);
  if (recorded.sequence === undefined || others.length === 0) return recorded;
  await transaction.query(
    'insert into ringback.identities (identity, sequence) select unnest($1::bytea[]), $2',
    [others.map(identityKey), recorded.sequence],
  );
  return recorded;
}

async function isKnown(transaction: Transaction, identities: readonly string[]): Promise<boolean> {
  const keys = identities.map(identityKey);
  // Two events that share an identity are recorded one after the other: each sees what the other has committed.
  await transaction.query(
    "select pg_advisory_xact_lock(hashtextextended('ringback.' || encode(key, 'hex'), 0)) from unnest($1::bytea[]) as k (key) order by key",
    [keys],
  );
  const found = await transaction.query('select 1 from ringback.identities where identity = any ($1)', [
    keys,
  ]);
  return found.length > 0;
}

/** The arguments of `record_events`: a list for each column. */
function columnsOf(events: readonly EventToRecord[]): unknown[] {
  const records = events.map(({ record }) => record);
  return [
    records.map(({ identities }) => identityKey(identities[0] ?? '')),
    records.map(({ lookup }) => (lookup === undefined ? null : identityKey(lookup))),
    records.map(({ traceId }) => toText(traceId)),
    records.map(({ eventName }) => toText(eventName)),
    records.map(({ callId }) => toTextOrNull(callId)),
    records.map(({ organizationId }) => toTextOrNull(organizationId)),
    records.map(({ facts: { agentId } }) => toTextOrNull(agentId)),
    records.map(({ occurredAt }) => occurredAt),
    records.map(({ receivedAt }) => receivedAt),
    // Without the agent's id, which has a column of its own.
    records.map(({ facts }) => toText(JSON.stringify({ ...facts, agentId: undefined }))),
    records.map(({ headers }) => toText(JSON.stringify(headers))),
    records.map(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
    events.map(({ mayClaim }) => mayClaim),
  ];
}
