import { type FilterPlaces, blocksOfFilter, filterBits } from './bloom-filter.ts';

/** The filters of so many eras lie side by side: one has a bit of each word. */
export const erasOfBoard = 32;

/** A block of a board, in bytes. */
export const blockBytes = (filterBits / blocksOfFilter) * Uint32Array.BYTES_PER_ELEMENT;

const wordsOfBlock = filterBits / blocksOfFilter;

/** Which board an era is on. */
export function boardOf(era: number): number {
  return Math.floor(era / erasOfBoard);
}

/** The eras of a board whose bits are set in a word. */
export function erasIn(board: number, word: number): number[] {
  const eras: number[] = [];
  for (let lane = 0; lane < erasOfBoard; lane += 1) {
    if ((word & (1 << lane)) !== 0) eras.push(board * erasOfBoard + lane);
  }
  return eras;
}

/**
 * The filters of 32 eras, asked at once. One after the other they would be as many reads all over the memory as there are
 * eras; side by side they are one stretch of it.
 */
export class Board {
  readonly #words = new Uint32Array(filterBits);

  /** Adds the filter of an era. */
  add(era: number, filter: Uint8Array): void {
    const lane = era % erasOfBoard;
    const words = this.#words;
    for (let place = 0; place < filterBits; place += 1) {
      const bit = ((filter[place >>> 3] ?? 0) >>> (place & 7)) & 1;
      words[place] = (words[place] ?? 0) | (bit << lane);
    }
  }

  /** A word with the bit of each era that may have a key. */
  ask({ block, bits }: FilterPlaces): number {
    const words = this.#words;
    const start = block * wordsOfBlock;
    let found = ~0;
    for (const bit of bits) found &= words[start + bit] ?? 0;
    return found;
  }

  /** The bytes of a block. */
  block(block: number): Buffer {
    return Buffer.from(this.#words.buffer, block * blockBytes, blockBytes);
  }
}
