import type Database from 'better-sqlite3';
import type { Sequence } from '../../sequence.ts';
import { withErasOf } from './eras.ts';
import { asBytes, asInteger } from '../connection/parameters.ts';

/** Asks, inside the transaction that writes an identity, whether an event of an earlier era has it. */
export interface EarlierIdentities {
  /** Whether an era before `era` has the key. */
  has(key: Buffer, era: number): boolean;
  /** Says that events have been written, and which sequence was the last one committed before them. */
  written(events: number, lastCommitted: Sequence): void;
}

/** Searches all eras: for connections that write few events, and keep no filters for that. */
export function prepareLookThrough(database: Database.Database): EarlierIdentities {
  const find = database.prepare(`
    ${withErasOf('identities')}
    select 1 from eras cross join identities i on i.era = eras.era and i.identity = ${asBytes('@key')}
    where eras.era < ${asInteger('@era')} limit 1`);
  return {
    has: (key, era) => find.get({ key, era }) !== undefined,
    written() {},
  };
}
