import type Database from 'better-sqlite3';
import { type FilterPlaces, blocksOfFilter } from './bloom-filter.ts';
import { type Board, blockBytes, boardOf, erasIn } from './board.ts';

/** The word that says of all eras of a board that they may have the key. */
const all = ~0;
const hexOfWord = 8;

/**
 * Boards whose eras all have their filters. They change no more, so they are in the database, a row for each block, and
 * not in memory, which must not grow with the inbox: asking one is reading one row.
 */
export class SealedBoards {
  readonly #ask: Database.Statement;
  readonly #lastBlock: Database.Statement;
  readonly #insert: Database.Statement;
  readonly #remove: Database.Statement;
  #boards: readonly number[] = [];

  constructor(database: Database.Database) {
    // As text: a buffer for each would be memory that only a full garbage collection gives back.
    const word = `hex(substr(words, ?, ${Uint32Array.BYTES_PER_ELEMENT}))`;
    this.#ask = database
      .prepare(
        `select ${Array.from({ length: 6 }, () => word).join(' || ')} from identity_boards
         where place = ? and length(words) = ${blockBytes}`,
      )
      .pluck();
    this.#lastBlock = database
      .prepare('select max(place) from identity_boards where place between ? and ?')
      .pluck();
    this.#insert = database.prepare('insert into identity_boards values (?, ?)');
    this.#remove = database.prepare('delete from identity_boards where place between ? and ?');
  }

  /** Whether an era is on one of them. */
  has(era: number): boolean {
    return this.#boards.includes(boardOf(era));
  }

  /** Learns which boards before this era are whole. */
  learn(era: number): void {
    const numbers = Array.from({ length: boardOf(era) }, (_, number) => number);
    this.#boards = numbers.filter((number) => this.#written(number) === blocksOfFilter);
  }

  /** Writes the next blocks of a board. Others may have written some of them. */
  write(number: number, board: Board, count: number): void {
    const written = this.#written(number);
    for (let block = written; block < Math.min(written + count, blocksOfFilter); block += 1) {
      this.#insert.run(number * blocksOfFilter + block, board.block(block));
    }
  }

  /** Whether all blocks of a board are written. */
  isWhole(number: number): boolean {
    return this.#written(number) === blocksOfFilter;
  }

  /** Removes the boards whose eras are all gone. */
  remove(isGone: (era: number) => boolean): void {
    for (const number of this.#boards) {
      const eras = erasIn(number, all);
      if (eras.every(isGone)) this.#remove.run(...placesOfBoard(number));
    }
  }

  /** The eras that may have a key. */
  mayHave(places: FilterPlaces): readonly number[] {
    return this.#boards.flatMap((number) => erasIn(number, this.#wordOf(number, places)));
  }

  #wordOf(number: number, { block, bits }: FilterPlaces): number {
    const [a, b, c, d, e, f] = bits.map((bit) => bit * Uint32Array.BYTES_PER_ELEMENT + 1);
    const words = this.#ask.get(a, b, c, d, e, f, number * blocksOfFilter + block) as string | undefined;
    // Removed by another process, or damaged: what isn't there says no to nothing.
    if (words === undefined) return all;
    let found = all;
    for (let at = 0; at < words.length; at += hexOfWord)
      found &= Number.parseInt(words.slice(at, at + hexOfWord), 16);
    return found === 0 ? 0 : inOrder(found);
  }

  #written(number: number): number {
    const [first, last] = placesOfBoard(number);
    const place = this.#lastBlock.get(first, last) as number | null;
    return place === null ? 0 : place - first + 1;
  }
}

function placesOfBoard(number: number): [number, number] {
  return [number * blocksOfFilter, (number + 1) * blocksOfFilter - 1];
}

/** A word whose bytes were read from the first to the last, as memory has it. */
function inOrder(word: number): number {
  const bytes = new DataView(new ArrayBuffer(Uint32Array.BYTES_PER_ELEMENT));
  bytes.setUint32(0, word);
  return new Uint32Array(bytes.buffer)[0] ?? 0;
}
