import type Database from 'better-sqlite3';
import type { Sequence } from '../../run-key.ts';
import { withErasOf } from '../eras.ts';
import { asBytes, asInteger } from '../parameters.ts';

/** Asks, inside the transaction that writes an identity, whether an event of an earlier era has it. */
export interface EarlierIdentities {
  /** Whether an era before this one has the key. */
  has(key: Buffer, era: number): boolean;
  /** Events have been written, after a last one that was committed before. */
  written(events: number, lastCommitted: Sequence): void;
}

/** Looks through all of them: for those who write few events, and keep no filters for it. */
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
