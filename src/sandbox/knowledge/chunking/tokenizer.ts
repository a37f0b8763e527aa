import { importOptional } from '../../../errors/optional-package.ts';

/** Counts the tokens of texts. It gives no tokens away: cutting between two can cut a character in halves. */
export interface Tokenizer {
  /** How many tokens a text has. */
  count(text: string): number;
}

/** What looks like a special token, such as `<|endoftext|>`, is text like any other. */
const plainText = { disallowedSpecial: new Set<string>() };

/**
 * The tokenizer of the models text-embedding-3-small and -large: the encoding cl100k_base. Only of a run of more than 128
 * letters, signs or spaces may it count a few tokens more.
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

/**
 * The most characters of a piece: merging the bytes of one takes time in the square of its length, and a text without
 * a space may be a megabyte long. No word of a language comes near.
 */
const longest = 128;

/**
 * Tokens of the encoding cl100k_base never reach across pieces: a word with the space before it, three digits, a run
 * of punctuation, white space. The pattern is the encoding's own, but for the limit.
 */
const piece = new RegExp(
  [
    "'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE])",
    String.raw`[^\r\n\p{L}\p{N}]?\p{L}{1,${longest}}`,
    String.raw`\p{N}{1,3}`,
    String.raw` ?[^\s\p{L}\p{N}]{1,${longest}}[\r\n]{0,${longest}}`,
    String.raw`\s{1,${longest}}$`,
    String.raw`\s{0,${longest}}[\r\n]`,
    String.raw`\s{1,${longest}}(?!\S)`,
    String.raw`\s`,
  ].join('|'),
  'gu',
);

/** The offsets where the pieces of a text end, one after the other, from an offset on. */
export function* pieceEnds(text: string, from = 0): Generator<number, void, undefined> {
  // A pattern of its own: the caller may begin with another text before this one is through.
  const pattern = new RegExp(piece);
  pattern.lastIndex = from;
  while (pattern.test(text)) yield pattern.lastIndex;
}
