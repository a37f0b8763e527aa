/** The weights of the kinds of features. A word has many n-grams, which together say about as much as the word. */
const weights = { word: 1, shortWord: 0.1, pair: 0.3, grams: 1 } as const;

/** Most short words (the, of, die, que) are everywhere, and must not fill the shared positions of a vector. */
const shortWord = /^\p{Script=Latin}{1,3}$/u;

const gramLengths = [3, 4, 5] as const;

/** The parts of shorter words say no more than the words. */
const minWithGrams = 4;

/** Needs no language where words are separated by spaces; for Chinese, Thai and others it has a dictionary. */
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** A feature of a text: a word, two words in a row, or three to five letters in a row. */
interface Feature {
  count: number;
  readonly weight: number;
}

/** The features of a text by their 32-bit hashes, which may collide. */
export function featuresOf(text: string): ReadonlyMap<number, Feature> {
  const features = new Map<number, Feature>();
  const add = (feature: string, weight: number): void => {
    const key = hashOf(feature);
    const known = features.get(key);
    if (known) known.count += 1;
    else features.set(key, { count: 1, weight });
  };
  let previous: string | undefined;
  for (const word of wordsOf(text)) {
    add(`w ${word}`, shortWord.test(word) ? weights.shortWord : weights.word);
    if (previous !== undefined) add(`p ${previous} ${word}`, weights.pair);
    previous = word;
    const grams = gramsOf(word);
    for (const gram of grams) add(`g ${gram}`, weights.grams / Math.sqrt(grams.length));
  }
  return features;
}

function* wordsOf(text: string): Generator<string, void, undefined> {
  const folded = text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase();
  for (const { segment, isWordLike } of segmenter.segment(folded)) {
    // The segmenter takes `chunk_size` and `example.com` for one word; a question may name one part of them.
    if (isWordLike === true) yield* segment.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  }
}

/** Three to five neighbouring letters of a word with marked ends, so that `run` resembles `runs` and not `prune`. */
function gramsOf(word: string): readonly string[] {
  const letters = Array.from(`<${word}>`);
  if (letters.length < minWithGrams + 2) return [];
  return gramLengths.flatMap((length) =>
    Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, start) =>
      letters.slice(start, start + length).join(''),
    ),
  );
}

/** FNV-1a with the final mixing of MurmurHash3, which spreads small differences over all bits. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The number of counters, which features share: a large knowledge base has more features. */
const counters = 65_536;

/** In how many chunks each feature occurs: rare features say more about what a question is after. */
export class Frequencies {
  #chunks = 0;
  readonly #counts = new Uint32Array(counters);

  add(text: string): void {
    this.#chunks += 1;
    for (const index of countersOf(text)) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Adds counts in the form of `toBytes`, or subtracts them. */
  merge(bytes: Uint8Array, sign: 1 | -1 = 1): void {
    // Not `slice`, which doesn't copy a Buffer: its memory may be larger.
    const numbers = new Uint32Array(new Uint8Array(bytes).buffer);
    this.#chunks += sign * (numbers[0] ?? 0);
    for (let place = 1; place + 1 < numbers.length; place += 2) {
      const index = numbers[place] ?? 0;
      this.#counts[index] = (this.#counts[index] ?? 0) + sign * (numbers[place + 1] ?? 0);
    }
  }

  /** The inverse document frequency of a feature, by its hash: larger the fewer chunks have it, and never below 0. */
  rarity(hash: number): number {
    const count = this.#counts[counterOf(hash)] ?? 0;
    return Math.log((this.#chunks + 1) / (Math.min(count, this.#chunks) + 0.5) + 1);
  }

  /** The number of chunks, then index and count of each nonzero counter: short for a short document. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const numbers = [this.#chunks];
    for (const [index, count] of this.#counts.entries()) if (count > 0) numbers.push(index, count);
    return new Uint8Array(Uint32Array.from(numbers).buffer);
  }
}

/** A chunk counts once for a counter, even if several of its features share it. */
function countersOf(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  for (const hash of featuresOf(text).keys()) found.add(counterOf(hash));
  return found;
}

/** Not the lowest bits, which determine vector positions: features that collide there shouldn't collide here. */
function counterOf(hash: number): number {
  return (hash >>> 12) % counters;
}
