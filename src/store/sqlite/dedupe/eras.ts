/**
 * An era is a stretch of 65,536 sequences. Keys come in random order, and each key that is written changes a page of
 * its table. The keys of one era are on few pages, which stay in memory and are checkpointed once for many keys,
 * however large the inbox is.
 */
import type { Sequence } from '../../sequence.ts';

const sequencesOfEra = 65_536;

/**
 * SQL: the eras of which a table has rows, as a table `eras`, the latest first. Each is found by a seek, without a
 * scan.
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
