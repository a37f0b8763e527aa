import { importOptional } from '../../../errors/optional-package.ts';
import { pieceEnds } from './pieces.ts';

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
