/**
 * An era is a stretch of 65,536 sequences, and comes first in the tables' primary keys. Keys come in random order, and
 * each changes a page of its table. The keys of one era are on few pages, which stay in memory and are checkpointed
 * once for many keys, however large the inbox is. A Bloom filter tells which keys an era can't have.
 */
import type Database from 'better-sqlite3';
import { type Sequence, identityBytes } from '../../event-record.ts';
import { EraFilters, addTo, bitsOf, filterBytes, newFilter } from './era-filters.ts';

const sequencesOfEra = 65_536;

/** SQL: the eras of which a table has rows, as a table `eras`, latest first. Each is found by an index seek. */
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

interface StoredFilter {
  readonly era: number;
  readonly bits: Uint8Array<ArrayBuffer>;
}

/**
 * Tells, inside the transaction that writes an identity, whether an event of an earlier era has it. Asks the filters of
 * earlier eras, in memory, and searches an era in the database only if its filter may have the key, or if it has no
 * filter yet. A filter has every key of its era: it is made after the era's last sequence was committed, and no key is
 * added to the era after that.
 */
export class EarlierIdentities {
  readonly #find: Database.Statement;
  readonly #hasAny: Database.Statement;
  readonly #keysOf: Database.Statement;
  readonly #insertFilter: Database.Statement;
  readonly #deleteFilters: Database.Statement;
  readonly #storedFilter: Database.Statement;
  readonly #storedFilters: Database.Statement;
  readonly #storedEras: Database.Statement;
  readonly #filters = new EraFilters();
  /** Eras that have no filter in memory. */
  #unfiltered: number[] = [];
  /** The eras whose stored filters `loadOne` has yet to load. */
  #unloaded: number[] = [];
  /** Every era before this one has a filter in memory or is in `#unfiltered`, unless all its identities were removed. */
  #known: number | undefined;
  #tidied = 0;

  constructor(database: Database.Database) {
    this.#find = database.prepare('select 1 from identities where era = ? and identity = ?');
    this.#hasAny = database.prepare('select 1 from identities where era = ? limit 1');
    // Selected as one text, because a buffer for each identity would stay until a full garbage collection.
    this.#keysOf = database
      .prepare("select group_concat(hex(identity), '') from identities where era = ?")
      .pluck();
    this.#insertFilter = database.prepare('insert or replace into identity_filters values (?, ?)');
    this.#deleteFilters = database.prepare(`
      delete from identity_filters
      where not exists (select 1 from identities i where i.era = identity_filters.era)`);
    // A filter of another length would miss keys of its era.
    this.#storedFilter = database.prepare(`
      select era, bits from identity_filters
      where era = ? and typeof(bits) = 'blob' and length(bits) = ${filterBytes}`);
    this.#storedFilters = database.prepare('select era from identity_filters order by era').pluck();
    this.#storedEras = database
      .prepare(`${withErasOf('identities')} select era from eras where era is not null`)
      .pluck();
  }

  /** Loads a stored filter into memory, which takes some milliseconds. Returns whether more are left. */
  loadOne(): boolean {
    if (this.#known === undefined) this.#learn();
    const era = this.#unloaded.pop();
    if (era !== undefined && this.#unfiltered.includes(era)) this.#takeStored(era);
    return this.#unloaded.length > 0;
  }

  /** The era before `before` that has the key, if one does. */
  find(key: Buffer, before: number): number | undefined {
    let known = this.#known ?? this.#learn();
    for (; known < before; known += 1) this.#unfiltered.push(known);
    this.#known = known;
    for (const earlier of this.#unfiltered) if (earlier < before && this.#isIn(earlier, key)) return earlier;
    for (const earlier of this.#filters.mayHave(bitsOf(key))) if (this.#isIn(earlier, key)) return earlier;
    return undefined;
  }

  /** Call after writing events; `lastCommitted` is the last sequence that was committed before them. */
  keepUp(lastCommitted: Sequence): void {
    // Only committed sequences count: others may be rolled back and given again.
    const latest = eraOf(lastCommitted);
    if (this.#known === undefined) this.#learn();
    if (this.#tidied < latest) this.#tidy(latest);
    // Tombstones that a move has brought are all in an era before these, which may be of any size.
    const era = this.#unfiltered.find((each) => each >= 0 && each < latest);
    // Another process may have stored the filter already.
    if (era !== undefined && !this.#takeStored(era)) this.#build(era);
  }

  #isIn(era: number, key: Buffer): boolean {
    return this.#find.get(era, key) !== undefined;
  }

  /** Takes some ten milliseconds, once in 65,536 events. */
  #build(era: number): void {
    const keys = Buffer.from((this.#keysOf.get(era) as string | null) ?? '', 'hex');
    const bits = newFilter();
    for (let at = 0; at < keys.length; at += identityBytes) addTo(bits, bitsOf(keys, at));
    this.#insertFilter.run(era, bits);
    this.#take({ era, bits });
  }

  #takeStored(era: number): boolean {
    const stored = this.#storedFilter.get(era) as StoredFilter | undefined;
    if (!stored) return false;
    this.#take(stored);
    // Frees the driver's buffer without a full garbage collection.
    stored.bits.buffer.transfer(0);
    return true;
  }

  #take({ era, bits }: StoredFilter): void {
    this.#filters.add(era, bits);
    this.#unfiltered = this.#unfiltered.filter((each) => each !== era);
  }

  #learn(): number {
    this.#unfiltered = this.#storedEras.all() as number[];
    this.#unloaded = this.#storedFilters.all() as number[];
    this.#known = 1 + Math.max(-1, ...this.#unfiltered);
    return this.#known;
  }

  /** Drops eras without identities, so that they are not asked any more. */
  #tidy(latest: number): void {
    this.#deleteFilters.run();
    const isEmpty = (era: number) => era < latest && this.#hasAny.get(era) === undefined;
    for (const era of this.#filters.eras) if (isEmpty(era)) this.#filters.remove(era);
    this.#unfiltered = this.#unfiltered.filter((era) => !isEmpty(era));
    this.#tidied = latest;
  }
}
