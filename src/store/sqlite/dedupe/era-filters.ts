/** Bloom filters of the keys of eras. A filter tells which keys its era can't have. */

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
