/**
 * A Bloom filter: it says yes to each key that was added, and no to nearly all others. Keys are digests, so their own
 * bytes are as good as any hashes of them.
 */

/**
 * Twelve bits for each key that an era usually has. The filter wrongly says yes to one in 155 of all other keys. With
 * sixteen that were one in four hundred, but filters stay in memory for as long as events are kept.
 */
export const filterBits = 12 * 2 ** 16;

/** The size of a filter, in bytes. */
export const filterBytes = filterBits / 8;

/** Which bits of a filter are a key's. */
export type KeyBits = readonly [number, number, number, number];

/** An empty filter. */
export function newFilter(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(filterBytes);
}

/** The bits of a key, in every filter; `at` is where it begins. */
export function bitsOf(key: Buffer, at = 0): KeyBits {
  return [
    key.readUInt32LE(at) % filterBits,
    key.readUInt32LE(at + 4) % filterBits,
    key.readUInt32LE(at + 8) % filterBits,
    key.readUInt32LE(at + 12) % filterBits,
  ];
}

/** Adds a key. */
export function addTo(filter: Uint8Array, bits: KeyBits): void {
  for (const bit of bits) filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
}
