/** How much the kinds of features count. A word has many n-grams, which tell together about as much as the word. */
const weights = { word: 1, shortWord: 0.1, pair: 0.3, grams: 1 } as const;

/** Most short words (the, of, die, que) are everywhere. Documents must not be full of them: they share places with others. */
const shortWord = /^\p{Script=Latin}{1,3}$/u;

const gramLengths = [3, 4, 5] as const;

/** The parts of shorter words say no more than the words. */
const minWithGrams = 4;

/** Word boundaries need no language where spaces are written; for Chinese, Thai and others there is a dictionary. */
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** One thing that a text contains: a word, two words in a row, or three to five letters in a row. */
export interface Feature {
  /** How often the text contains it. */
  count: number;
  /** How much it counts beside features of other kinds. */
  readonly weight: number;
}

/** The features of a text by their hashes of 32 bits. Two features may have the same. */
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

/** The words without case and accents. */
function* wordsOf(text: string): Generator<string, void, undefined> {
  const folded = text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase();
  for (const { segment, isWordLike } of segmenter.segment(folded)) {
    // For the segmenter, `chunk_size` and `example.com` are one word; a question names one part of them.
    if (isWordLike === true) yield* segment.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  }
}

/** Three to five neighbouring letters of a word, its beginning and its end marked, so that `run` is like `runs` and not like `prune`. */
function gramsOf(word: string): readonly string[] {
  const letters = Array.from(`<${word}>`);
  if (letters.length < minWithGrams + 2) return [];
  return gramLengths.flatMap((length) =>
    Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, start) =>
      letters.slice(start, start + length).join(''),
    ),
  );
}

/** FNV-1a with the last steps of MurmurHash3, which spread what differs in few letters over all bits. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
