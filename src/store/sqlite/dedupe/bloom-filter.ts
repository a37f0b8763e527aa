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

/** Where a key's bits are. */
export type FilterPlaces = readonly [number, number, number, number];

/** An empty filter. */
export function newFilter(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(filterBytes);
}

/** Where the bits of a key are, in every filter; `at` is where it begins. */
export function placesOf(key: Buffer, at = 0): FilterPlaces {
  return [
    key.readUInt32LE(at) % filterBits,
    key.readUInt32LE(at + 4) % filterBits,
    key.readUInt32LE(at + 8) % filterBits,
    key.readUInt32LE(at + 12) % filterBits,
  ];
}

/** Adds a key. */
export function addTo(filter: Uint8Array, places: FilterPlaces): void {
  for (const place of places) filter[place >>> 3] = (filter[place >>> 3] ?? 0) | (1 << (place & 7));
}
