import type Database from 'better-sqlite3';
import type { Sequence } from '../../event-record.ts';
import { withErasOf } from '../dedupe/eras.ts';
import { asInteger, asText } from '../connection/parameters.ts';

/** SQL: the event is not in the index yet. Such events are few enough to scan. */
export const isUnindexed = 'sequence > (select indexed_sequence from event_totals)';

/**
 * SQL: a select from the index entries `i` of a call's events, latest era first. Two calls may share a key, so the
 * caller must compare the call's id as well.
 */
export function indexedOfCall(columns: string, key: string): string {
  return `${withErasOf('call_events')}
    select ${columns} from eras cross join call_events i on i.era = eras.era and i.call_key = ${key}`;
}

/**
 * SQL: a select of the sequences of a call's events, indexed or not. `key` is the parameter with the call's key; the
 * caller must compare the call's id as well.
 */
export function sequencesOfCall(key: string): string {
  return `${indexedOfCall('i.sequence', asInteger(key))}
    union all select sequence from events where ${isUnindexed} and call_key = ${asInteger(key)}`;
}

/**
 * SQL: `from` and `where` of a statement about the events `e` of a call, with the parameters `@key` and `@callId`.
 * Events are read one by one, in no order, so that a statement that ends early doesn't gather all of them first.
 */
export const fromEventsOfCall = `from (${sequencesOfCall('@key')}) of_call
  cross join events e on e.sequence = of_call.sequence where e.call_id = ${asText('@callId')}`;

/**
 * SQL: as `sequencesOfCall`, but only the sequences after the parameter `after`. The index has the sequence, so earlier
 * events of the call are not read.
 */
export function laterSequencesOfCall(key: string, after: string): string {
  return `${indexedOfCall('i.sequence', asInteger(key))} and i.sequence > ${asInteger(after)}
    union all select sequence from events
      where sequence > max((select indexed_sequence from event_totals), ${asInteger(after)})
        and call_key = ${asInteger(key)}`;
}

/** Returns how many eras a search for a call goes through, by which callers limit the searches of one step. */
export function prepareEraCount(database: Database.Database): () => number {
  const count = database
    .prepare('select (select max(era) from call_events) - (select min(era) from call_events) + 1')
    .pluck();
  return () => (count.get() as number | null) ?? 1;
}

/** How many sequences are added to the index of calls at a time, so that each written page takes several. */
const batchSize = 2_048;

/** The sequences in `event_totals`. */
export interface SequenceTotals {
  readonly last: Sequence;
  readonly indexed: Sequence;
}

/**
 * Adds events to the index of calls, inside the transaction that reserved the last sequence. In batches, because keys
 * come in random order: added singly, each event would write a page of its own.
 */
export function prepareCallIndex(database: Database.Database) {
  const insert = database.prepare(`
    insert into call_events
    select sequence >> 16 as era, call_key, sequence from events
    where sequence > @indexed and sequence <= @last and call_key is not null order by era, call_key, sequence`);
  const move = database.prepare('update event_totals set indexed_sequence = ?');

  return (totals: SequenceTotals): void => {
    if (totals.last - totals.indexed < batchSize) return;
    insert.run(totals);
    move.run(totals.last);
  };
}
