/**
 * A Bloom filter: it says yes to each key that was added, and no to nearly all others. Keys are digests, so their own
 * bytes are as good as any hashes of them.
 */

/**
 * Sixteen bits for each key that an era usually has. The filter wrongly says yes to one in four hundred of all other
 * keys.
 */
export const filterBits = 2 ** 20;

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
  const mask = filterBits - 1;
  return [
    key.readUInt32LE(at) & mask,
    key.readUInt32LE(at + 4) & mask,
    key.readUInt32LE(at + 8) & mask,
    key.readUInt32LE(at + 12) & mask,
  ];
}

/** Adds a key. */
export function addTo(filter: Uint8Array, places: FilterPlaces): void {
  for (const place of places) filter[place >>> 3] = (filter[place >>> 3] ?? 0) | (1 << (place & 7));
}
