import type Database from 'better-sqlite3';
import { type Sequence, newIdentityKey, writeIdentityKey } from '../../event-record.ts';
import type { SeenDuplicates } from '../../event-store.ts';
import type { EarlierIdentities } from '../dedupe/eras.ts';

/** Counts duplicates by event, inside the caller's transaction. */
export function prepareDuplicates(database: Database.Database, earlier: EarlierIdentities) {
  const latestEra = database.prepare('select last_sequence >> 16 from event_totals').pluck();
  const sequenceOf = database
    .prepare('select sequence from identities where era = ? and identity = ?')
    .pluck();
  const count = database.prepare(`
    insert into duplicates values (@sequence, @count, @firstSeenAt, @lastSeenAt)
    on conflict do update set count = count + excluded.count,
      first_seen_at = min(first_seen_at, excluded.first_seen_at),
      last_seen_at = max(last_seen_at, excluded.last_seen_at)`);
  const key = newIdentityKey();

  /** Null if the event has been removed; undefined if no event has had this identity. */
  const eventWith = (identity: string, latest: number): Sequence | null | undefined => {
    writeIdentityKey(identity, key);
    const era = earlier.find(key, latest + 1);
    return era === undefined ? undefined : (sequenceOf.get(era, key) as Sequence | null);
  };

  return (seen: readonly SeenDuplicates[]): void => {
    const latest = latestEra.get() as number;
    for (const { identity, reconciled, ...counted } of seen) {
      const delivered = eventWith(identity, latest);
      const sequence = delivered ?? (reconciled === undefined ? undefined : eventWith(reconciled, latest));
      if (typeof sequence === 'number') count.run({ sequence, ...counted });
    }
  };
}
