import { identityKey } from '../../shared/identity-key.ts';
import type { EventRecord } from '../../event-record.ts';
import { listOf } from '../connection/lists.ts';
import { toText, toTextOrNull } from '../connection/text.ts';
import type { Transaction } from '../connection/transaction.ts';
import { type Ranges, firstsAndLasts } from './holding.ts';

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
  readonly lives: boolean;
  readonly new_places: readonly number[];
  readonly claimed_places: readonly number[];
  readonly numbers: readonly number[];
}

const recordEvents = `
  select * from ringback.record_events(
    $1, $2, $3::bytea[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
    $11::bigint[], $12::text[], $13::text[], $14::bytea[], $15::boolean[], $16::bigint[], $17::bigint[])`;

const duplicate: Recorded = { sequence: undefined, isClaimed: false };

/** What became of a group of events, and whether the process lives, without which no claims were ended. */
export interface RecordedGroup {
  readonly recorded: readonly Recorded[];
  readonly lives: boolean;
}

/**
 * Records events, and ends claims on others, in one statement. Each event must have one identity; see `recordOne` for those
 * that have several. With `recorder` undefined nothing is claimed.
 */
export async function recordGroup(
  transaction: Transaction,
  events: readonly EventToRecord[],
  recorder: Recorder | undefined,
  ended: Ranges = [],
): Promise<RecordedGroup> {
  const { id = null, recoveries = null } = recorder ?? {};
  const values = [id, recoveries, ...columnsOf(events), ...firstsAndLasts(ended)];
  const [row] = await transaction.query<RecordedRow>(recordEvents, values);
  if (!row) throw new Error('The database has not said what it recorded.');
  const recorded = events.map(() => duplicate);
  const claimed = new Set(row.claimed_places);
  for (const place of row.new_places)
    recorded[place - 1] = { sequence: row.numbers[place - 1], isClaimed: claimed.has(place) };
  return { recorded, lives: row.lives };
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
  const [recorded = duplicate] = (await recordGroup(transaction, [event], recorder)).recorded;
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

/** The first arguments of `record_events`: a list for each column. */
function columnsOf(events: readonly EventToRecord[]): readonly Buffer[] {
  const records = events.map(({ record }) => record);
  return [
    listOf(
      'bytea',
      records.map(({ identities }) => identityKey(identities[0] ?? '')),
    ),
    listOf(
      'bytea',
      records.map(({ lookup }) => (lookup === undefined ? null : identityKey(lookup))),
    ),
    listOf(
      'text',
      records.map(({ traceId }) => toText(traceId)),
    ),
    listOf(
      'text',
      records.map(({ eventName }) => toText(eventName)),
    ),
    listOf(
      'text',
      records.map(({ callId }) => toTextOrNull(callId)),
    ),
    listOf(
      'text',
      records.map(({ organizationId }) => toTextOrNull(organizationId)),
    ),
    listOf(
      'text',
      records.map(({ facts: { agentId } }) => toTextOrNull(agentId)),
    ),
    listOf(
      'bigint',
      records.map(({ occurredAt }) => occurredAt),
    ),
    listOf(
      'bigint',
      records.map(({ receivedAt }) => receivedAt),
    ),
    // Without the agent's id, which has a column of its own.
    listOf(
      'text',
      records.map(({ facts }) => toText(JSON.stringify({ ...facts, agentId: undefined }))),
    ),
    listOf(
      'text',
      records.map(({ headers }) => toText(JSON.stringify(headers))),
    ),
    listOf(
      'bytea',
      records.map(({ body }) => body),
    ),
    listOf(
      'boolean',
      events.map(({ mayClaim }) => mayClaim),
    ),
  ];
}

/**
 * Resolves when the database would take a delivery, and rejects when it would not. It writes as a delivery does, and takes it
 * back: a database that can be read may still be a standby, or have a full disk. No identity is empty, so that no event is in
 * the way.
 */
export async function probe(intake: Transaction): Promise<void> {
  await intake.query("begin; insert into ringback.identities (identity) values (''); rollback");
}
