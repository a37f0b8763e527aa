import { type EventRecord, erasedIdentity, identityKey, reconciledIdentity } from '../../event-record.ts';
import { type Recorded, duplicate } from '../../shared/found-work.ts';
import { type ListType, type ListValue, listOf } from '../connection/lists.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { type Ranges, firstsAndLasts } from './ranges.ts';

/** An event to be recorded, and whether the process that records it may claim it. */
export interface EventToRecord {
  readonly record: EventRecord;
  readonly mayClaim: boolean;
}

export interface RecordingProcess {
  readonly id: number;
  /** How often the process has recovered; undefined if it may claim nothing. */
  readonly recoveries: number | undefined;
}

/**
 * Whether deliveries need the keys of reconciled events: only once the inbox has had one. `recordGroup` sets this when
 * the database asks for the keys.
 */
export interface ReconciledKeys {
  areNeeded: boolean;
}

interface RecordedGroupRow {
  readonly lacks_keys: boolean;
  readonly lives: boolean;
  readonly new_places: readonly number[];
  readonly claimed_places: readonly number[];
  readonly sequences: readonly number[];
}

const recordEvents = (source: string): string => `ringback.record_events(
  $1, $2, $3::bytea[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
  $11::bigint[], $12::text[], $13::text[], $14::bytea[], $15::boolean[], ${source}, $16::bytea[], $17::bigint[],
  $18::bigint[])`;
const recordDelivered = `select * from ${recordEvents('null')}`;
// `record_events` gets the result of `may_reconcile`, so that the database can't run it first.
const recordIfMissing = `
  with asked as materialized (select ringback.may_reconcile($1, $19, $20, $21) as may)
  select true as must_wait, null as lives, null as new_places, null as claimed_places, null as sequences, null as lacks_keys
  from asked where may is null
  union all
  select false, recorded.* from asked, lateral ${recordEvents("case when may then 'reconciled' end")} as recorded
  where may`;

/** The outcome of recording a group. Unless the process lives, no claims were ended. */
export interface RecordedGroup {
  readonly recorded: readonly Recorded[];
  readonly lives: boolean;
}

/** Records events, and ends claims on others, in one statement. With `recorder` undefined, nothing is claimed. */
export async function recordGroup(
  transaction: Transaction,
  events: readonly EventToRecord[],
  recorder: RecordingProcess | undefined,
  reconciledKeys: ReconciledKeys,
  ended: Ranges = [],
): Promise<RecordedGroup> {
  const record = (): Promise<RecordedGroupRow> => {
    const keys = reconciledKeys.areNeeded ? listOf('bytea', events.map(reconciledKey)) : null;
    return oneRow(transaction, recordDelivered, valuesOf(events, recorder, keys, ended));
  };
  const first = await record();
  if (!first.lacks_keys) return recordedIn(first, events, recorder);
  // The first statement has written nothing.
  reconciledKeys.areNeeded = true;
  return recordedIn(await record(), events, recorder);
}

function recordedIn(
  row: RecordedGroupRow,
  events: readonly EventToRecord[],
  recorder: RecordingProcess | undefined,
): RecordedGroup {
  const recorded = events.map(() => duplicate);
  const claimed = new Set(row.claimed_places);
  for (const position of row.new_places)
    recorded[position - 1] = {
      sequence: row.sequences[position - 1],
      claimedBy: claimed.has(position) ? recorder?.id : undefined,
    };
  return { recorded, lives: row.lives };
}

/**
 * Records a reconciled event, unless it was delivered. In one statement, because nothing else is recorded meanwhile: a
 * process lost between two statements would block all others. Resolves to an empty list, with nothing written, if
 * deliveries are being recorded.
 */
export async function recordReconciled(
  intake: Transaction,
  event: EventToRecord,
  recorder: RecordingProcess,
): Promise<readonly Recorded[]> {
  const { eventName, callId } = event.record;
  const erased = callId === undefined ? null : identityKey(erasedIdentity(callId));
  const values = valuesOf([event], recorder, listOf('bytea', [null]), []);
  const [row] = await intake.query<RecordedGroupRow & { must_wait: boolean }>(recordIfMissing, [
    ...values,
    eventName,
    callId ?? null,
    erased,
  ]);
  if (!row) return [duplicate];
  return row.must_wait ? [] : recordedIn(row, [event], recorder).recorded;
}

/** The arguments of `record_events`, except the source. */
function valuesOf(
  events: readonly EventToRecord[],
  recorder: RecordingProcess | undefined,
  reconciledKeys: Buffer | null,
  ended: Ranges,
): readonly unknown[] {
  const { id = null, recoveries = null } = recorder ?? {};
  return [id, recoveries, ...columnsOf(events), reconciledKeys, ...firstsAndLasts(ended)];
}

/** A list for each column. */
function columnsOf(events: readonly EventToRecord[]): readonly Buffer[] {
  const list = (type: ListType, valueOf: (record: EventRecord) => ListValue) =>
    listOf(
      type,
      events.map(({ record }) => valueOf(record)),
    );
  return [
    list('bytea', ({ identity }) => identityKey(identity)),
    list('bytea', ({ lookup }) => (lookup === undefined ? null : identityKey(lookup))),
    list('text', ({ traceId }) => traceId),
    list('text', ({ eventName }) => eventName),
    list('text', ({ callId }) => callId ?? null),
    list('text', ({ organizationId }) => organizationId ?? null),
    list('text', ({ facts: { agentId } }) => agentId ?? null),
    list('bigint', ({ occurredAt }) => occurredAt),
    list('bigint', ({ receivedAt }) => receivedAt),
    // Without the agent's id, which has a column of its own.
    list('text', ({ facts }) => JSON.stringify({ ...facts, agentId: undefined })),
    list('text', ({ headers }) => JSON.stringify(headers)),
    list('bytea', ({ body }) => body),
    listOf(
      'boolean',
      events.map(({ mayClaim }) => mayClaim),
    ),
  ];
}

/** The key that the event has if it was reconciled before. */
function reconciledKey({ record: { eventName, callId } }: EventToRecord): Buffer | null {
  const identity = reconciledIdentity(eventName, callId);
  return identity === undefined ? null : identityKey(identity);
}

/** A body of 64 KB that can't be compressed. */
const largeBody = "(select string_agg(sha256(i::text::bytea), ''::bytea) from generate_series(1, 2048) as i)";

const smallRow = "insert into ringback.identities (identity) values ('')";
const wholeEvent = `select from ringback.record_events(
  null, null, array[''::bytea], array[null::bytea], array[''], array[''], array[null::text], array[null::text],
  array[null::text], array[0::bigint], array[0::bigint], array['{}'], array['{}'], array[${largeBody}], array[false], null,
  array[null::bytea], '{}', '{}')`;

/**
 * Resolves if the database would take a delivery, and rejects if it would not. Writes as a delivery does, and rolls
 * back: a database that can be read may still be a standby, or have a full disk. The empty key conflicts with no event.
 * Only the savepoint is rolled back, because only a commit waits for a synchronous standby.
 *
 * @param isDoubted Whether a recording failed lately. Then a whole event is written: a full disk may still have room
 * for a small row, and whatever else refuses events may accept that row
 */
export async function probe(intake: Transaction, isDoubted: boolean): Promise<void> {
  const write = isDoubted ? wholeEvent : smallRow;
  await intake.query(`begin; savepoint probe; ${write}; rollback to probe; commit`);
}
