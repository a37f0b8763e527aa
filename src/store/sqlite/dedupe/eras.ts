/**
 * An era is a stretch of 65,536 sequences, and comes first in the tables' primary keys. Keys come in random order, and
 * each changes a page of its table. The keys of one era are on few pages, which stay in memory and are checkpointed
 * once for many keys, however large the inbox is.
 */
import type Database from 'better-sqlite3';
import type { Sequence } from '../../event-record.ts';
import { asBytes, asInteger } from '../connection/parameters.ts';

const sequencesOfEra = 65_536;

/**
 * SQL: the eras of which a table has rows, as a table `eras`, latest first. Each is found by an index seek.
 */
export function withErasOf(table: 'call_events' | 'identities'): string {
  return `with recursive eras (era) as materialized (
      select max(era) from ${table}
      union all
      select (select max(era) from ${table} where era < eras.era) from eras where era is not null)`;
}

/** The era of an event; `sequence >> 16` in SQL. */
export function eraOf(sequence: Sequence): number {
  return Math.floor(sequence / sequencesOfEra);
}

/** Tells, inside the transaction that writes an identity, whether an event of an earlier era has it. */
export interface EarlierIdentities {
  /** The era before `era` that has the key, if one does. */
  find(key: Buffer, era: number): number | undefined;
  /** Call after writing events; `lastCommitted` is the last sequence that was committed before them. */
  keepUp(lastCommitted: Sequence): void;
}

/** Searches all eras in the database: for connections that write too few events to keep filters. */
export function prepareLookThrough(database: Database.Database): EarlierIdentities {
  const find = database
    .prepare(`
    ${withErasOf('identities')}
    select eras.era from eras cross join identities i on i.era = eras.era and i.identity = ${asBytes('@key')}
    where eras.era < ${asInteger('@era')} limit 1`)
    .pluck();
  return {
    find: (key, era) => find.get({ key, era }) as number | undefined,
    keepUp() {},
  };
}
