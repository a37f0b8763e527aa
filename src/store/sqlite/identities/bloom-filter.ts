/**
 * A Bloom filter: of a key that was added it says yes, of nearly all others no. Keys are digests, so that their own bytes
 * are as good as any hashes of them.
 */

/** Sixteen for each key that an era has as a rule: one in four hundred of the others is said to be there. */
export const filterBits = 2 ** 20;

/** How large a filter is. */
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
