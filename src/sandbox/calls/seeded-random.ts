import { hash } from 'node:crypto';
import type { Random } from '../../kit/clock.ts';

type Word = string | number;

/**
 * Reproducible random numbers: the same words give the same numbers. The generator is mulberry32, seeded with the
 * words' SHA-256. Its 32 bits are plenty for drawing, and far too few for a secret or an id.
 *
 * @example seededRandom('tuesday', 7)() === seededRandom('tuesday', 7)() // true
 */
export function seededRandom(...words: readonly Word[]): Random {
  let state = digestOf(words).readUInt32LE(0);
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An id of 24 hex digits, determined by the words. */
export function seededId(...words: readonly Word[]): string {
  return digestOf(words).toString('hex', 0, 12);
}

/** A UUID (version 4), determined by the words. */
export function seededUuid(...words: readonly Word[]): string {
  const bytes = digestOf(words).subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function wholeNumber(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

export function oneOf<Item>(random: Random, items: readonly [Item, ...Item[]]): Item {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

/** JSON keeps the words apart: `a`, `bc` and `ab`, `c` have different digests. */
function digestOf(words: readonly Word[]): Buffer {
  return hash('sha256', JSON.stringify(words), 'buffer');
}
