import { importOptional } from '../../../errors/optional-package.ts';

/** Counts the tokens of texts. It doesn't expose tokens: splitting between two can split a character. */
export interface Tokenizer {
  count(text: string): number;
}

/** Treats special tokens, such as `<|endoftext|>`, as ordinary text. */
const plainText = { disallowedSpecial: new Set<string>() };

/**
 * The tokenizer of text-embedding-3-small and -large, with the encoding cl100k_base. It may count a few tokens too many
 * only in runs of more than 128 letters, signs or spaces.
 *
 * @throws ConfigError `package_missing`
 */
export async function tokenizer(): Promise<Tokenizer> {
  const { countTokens } = await importOptional(
    'gpt-tokenizer',
    'documents of knowledge bases in the sandbox',
    () => import('gpt-tokenizer/esm/encoding/cl100k_base'),
  );
  return {
    count(text) {
      let tokens = 0;
      let start = 0;
      for (const end of pieceEnds(text)) {
        tokens += countTokens(text.slice(start, end), plainText);
        start = end;
      }
      return tokens;
    },
  };
}

/** The most characters of a piece: merging its bytes takes quadratic time. No real word comes near. */
const maxLength = 128;

/**
 * Tokens of cl100k_base never cross pieces: a word with the space before it, three digits, a run of punctuation, white
 * space. The pattern is the encoding's own, except for the limit.
 */
const piece = new RegExp(
  [
    "'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE])",
    String.raw`[^\r\n\p{L}\p{N}]?\p{L}{1,${maxLength}}`,
    String.raw`\p{N}{1,3}`,
    String.raw` ?[^\s\p{L}\p{N}]{1,${maxLength}}[\r\n]{0,${maxLength}}`,
    String.raw`\s{1,${maxLength}}$`,
    String.raw`\s{0,${maxLength}}[\r\n]`,
    String.raw`\s{1,${maxLength}}(?!\S)`,
    String.raw`\s`,
  ].join('|'),
  'gu',
);

/** The end offsets of a text's pieces, from an offset on. */
export function* pieceEnds(text: string, from = 0): Generator<number, void, undefined> {
  // Its own pattern, because the caller may interleave texts.
  const pattern = new RegExp(piece);
  pattern.lastIndex = from;
  while (pattern.test(text)) yield pattern.lastIndex;
}
