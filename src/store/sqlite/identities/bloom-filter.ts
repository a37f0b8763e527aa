/**
 * A Bloom filter: of a key that was added it says yes, of nearly all others no. Keys are digests, so that their own bytes
 * are as good as any hashes of them. All bits of a key are in one block, which is read as a whole.
 */

const bitsOfBlock = 512;
/** Sixteen bits for each key that an era has as a rule: one in some hundreds of the others is said to be there. */
export const blocksOfFilter = 2_048;

/** How many bits a filter has. */
export const filterBits = blocksOfFilter * bitsOfBlock;

/** How large a filter is. */
export const filterBytes = filterBits / 8;

/** Where a key's bits are. */
export interface FilterPlaces {
  readonly block: number;
  /** Within the block. */
  readonly bits: readonly [number, number, number, number, number, number];
}

/** An empty filter. */
export function newFilter(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(filterBytes);
}

/** Where the bits of a key are, in every filter; `at` is where it begins. */
export function placesOf(key: Buffer, at = 0): FilterPlaces {
  const mask = bitsOfBlock - 1;
  const [one, two] = [key.readUInt32LE(at + 4), key.readUInt32LE(at + 8)];
  return {
    block: key.readUInt32LE(at) & (blocksOfFilter - 1),
    bits: [
      one & mask,
      (one >>> 9) & mask,
      (one >>> 18) & mask,
      two & mask,
      (two >>> 9) & mask,
      (two >>> 18) & mask,
    ],
  };
}

/** Adds a key. */
export function addTo(filter: Uint8Array, { block, bits }: FilterPlaces): void {
  for (const bit of bits) {
    const place = block * bitsOfBlock + bit;
    filter[place >>> 3] = (filter[place >>> 3] ?? 0) | (1 << (place & 7));
  }
}
