/**
 * An era is a stretch of 65,536 sequences, and comes first in the tables' primary keys. Keys come in random order, and
 * each changes a page of its table. The keys of one era are on few pages, which stay in memory and are checkpointed
 * once for many keys, however large the inbox is. A Bloom filter tells which keys an era can't have.
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

/**
 * The key of a call in its index, `call_events`: a number that SQLite and JavaScript both hold exactly. Two calls may share one,
 * because it only has to narrow the search.
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

/**
 * The size of a filter. Keys are digests, so their own bytes serve as the hashes. With twelve bits for each key of a
 * full era, one in 155 other keys is a false positive. With sixteen it would be one in 400, but filters stay in memory
 * for as long as events are kept.
 */
const filterBits = 12 * 2 ** 16;

export const filterBytes = filterBits / 8;

/** The indices of a key's bits in a filter. */
type KeyBits = readonly [number, number, number, number];

export function newFilter(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(filterBytes);
}

/** The bits of the key that begins at `at`. */
export function bitsOf(key: Buffer, at = 0): KeyBits {
  return [
    key.readUInt32LE(at) % filterBits,
    key.readUInt32LE(at + 4) % filterBits,
    key.readUInt32LE(at + 8) % filterBits,
    key.readUInt32LE(at + 12) % filterBits,
  ];
}

export function addTo(filter: Uint8Array, bits: KeyBits): void {
  for (const bit of bits) filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
}

const columnsOfBoard = 32;
/** The answer for nearly all keys. */
const none: readonly number[] = [];

/** The filters of up to 32 eras side by side: the word at an index has each filter's bit there, in its column. */
interface Board {
  readonly words: Uint32Array;
  readonly eras: (number | undefined)[];
}

/**
 * The filters of many eras, asked at once. One after the other, each would take at least one read from a distant place
 * in memory; side by side, 32 filters take four.
 */
export class EraFilters {
  #boards: Board[] = [];

  /** The eras that have a filter here. */
  get eras(): number[] {
    return this.#boards.flatMap(({ eras }) => eras.filter((era) => era !== undefined));
  }

  add(era: number, filter: Uint8Array): void {
    const board = this.#boardWithRoom();
    const column = board.eras.indexOf(undefined);
    const { words } = board;
    for (let index = 0; index < filterBits; index += 1) {
      const bit = ((filter[index >>> 3] ?? 0) >>> (index & 7)) & 1;
      words[index] = (words[index] ?? 0) | (bit << column);
    }
    board.eras[column] = era;
  }

  remove(era: number): void {
    const board = this.#boards.find(({ eras }) => eras.includes(era));
    if (!board) return;
    const column = board.eras.indexOf(era);
    board.eras[column] = undefined;
    const others = ~(1 << column);
    for (let index = 0; index < filterBits; index += 1)
      board.words[index] = (board.words[index] ?? 0) & others;
    this.#boards = this.#boards.filter(({ eras }) => eras.some((each) => each !== undefined));
  }

  /** The eras that may have a key. */
  mayHave([first, second, third, fourth]: KeyBits): readonly number[] {
    let found: number[] | undefined;
    for (const { words, eras } of this.#boards) {
      const columns = (words[first] ?? 0) & (words[second] ?? 0) & (words[third] ?? 0) & (words[fourth] ?? 0);
      if (columns !== 0) (found ??= []).push(...erasIn(columns, eras));
    }
    return found ?? none;
  }

  #boardWithRoom(): Board {
    const found = this.#boards.find(({ eras }) => eras.includes(undefined));
    if (found) return found;
    const eras = Array.from<number | undefined>({ length: columnsOfBoard });
    const board = { words: new Uint32Array(filterBits), eras };
    this.#boards.push(board);
    return board;
  }
}

function erasIn(columns: number, eras: Board['eras']): number[] {
  return eras.filter((era, column): era is number => era !== undefined && (columns & (1 << column)) !== 0);
}
