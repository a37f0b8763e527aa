import type Database from 'better-sqlite3';
import type { Sequence } from '../../event-record.ts';
import { withErasOf } from '../dedupe/eras.ts';
import { asInteger, asText } from '../connection/parameters.ts';

/**
 * After how many sequences events are added to the index of calls: each page that is written then takes several of
 * them.
 */
const batchSize = 2_048;

/** What `event_totals` says of the sequences. */
export interface SequenceTotals {
  readonly last: Sequence;
  readonly indexed: Sequence;
}

/** SQL: the event is not in the index yet. Such events are few, and are read one after the other. */
export const isUnindexed = 'sequence > (select indexed_sequence from event_totals)';

/**
 * SQL: a select from the index entries `i` of a call's events, the latest era first. Two calls may share a key, so
 * the caller must compare the call's id as well.
 */
export function indexedOfCall(columns: string, key: string): string {
  return `${withErasOf('call_events')}
    select ${columns} from eras cross join call_events i on i.era = eras.era and i.call_key = ${key}`;
}

/**
 * SQL: a select of the sequences of a call's events, indexed or not, by the parameter that has its key. The caller
 * must compare the call's id as well.
 */
export function sequencesOfCall(key: string): string {
  return `${indexedOfCall('i.sequence', asInteger(key))}
    union all select sequence from events where ${isUnindexed} and call_key = ${asInteger(key)}`;
}

/**
 * SQL: `from` and `where` of a statement about the events `e` of a call, by the parameters `@key` and `@callId`. The
 * events are read one by one as the index has them, in no order, so that a statement that ends early doesn't gather
 * all of them first.
 */
export const fromEventsOfCall = `from (${sequencesOfCall('@key')}) of_call
  cross join events e on e.sequence = of_call.sequence where e.call_id = ${asText('@callId')}`;

/**
 * SQL: the same as `sequencesOfCall`, for the sequences after the parameter `after` only. The index has the sequence, so
 * that earlier events of the call are not read.
 */
export function laterSequencesOfCall(key: string, after: string): string {
  return `${indexedOfCall('i.sequence', asInteger(key))} and i.sequence > ${asInteger(after)}
    union all select sequence from events
      where sequence > max((select indexed_sequence from event_totals), ${asInteger(after)})
        and call_key = ${asInteger(key)}`;
}

/** How many eras a search for a call goes through: the more there are, the fewer calls one step may search for. */
export function prepareEraCount(database: Database.Database): () => number {
  const count = database
    .prepare('select (select max(era) from call_events) - (select min(era) from call_events) + 1')
    .pluck();
  return () => (count.get() as number | null) ?? 1;
}

/**
 * Adds events to the index of calls, inside the transaction that reserved the last sequence. They are added in
 * batches because keys come in random order: one at a time, every event would cost the write of a page of its own.
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

/**
 * The key by which a call's events are found: a number that SQLite and JavaScript both hold exactly. It only serves
 * to find few events fast, and two calls may share one.
 */
export function callKey(callId: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < callId.length; index += 1) {
    const code = callId.charCodeAt(index);
    high = Math.imul(high ^ code, 0x9e3779b1);
    low = Math.imul(low ^ code, 0x5f356495);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}
