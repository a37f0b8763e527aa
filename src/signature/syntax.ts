import type { Scheme } from '../events/model.ts';

/** Limits far above what two secrets in rotation need, and low enough that reading a hostile header costs little. */
const maxHeader = 8_192;
const maxSignatures = 16;
const maxWords = 2 * maxSignatures;

/** The size of a digest, in bytes. */
const digestBytes = { sha256: 32, sha512: 64 } as const;

/** The key before each signature, in the syntaxes that have one. */
const keys = { 'v1=': 'v1=', 't=,v1=': 'v1=', 'sha256=': 'sha256=' } as const;

const separator = /[\s,;]/;
const separators = /[\s,;]+/;

/** The content of a signature header. */
export interface Signatures {
  /** Only in the syntax `t=…,v1=…`. */
  readonly t: string | undefined;
  readonly items: readonly string[];
}

/**
 * Reads a signature header. Undefined if it doesn't have that syntax. Entries may be separated by commas, semicolons or
 * blanks, since the platform doesn't say; unknown keys are ignored.
 */
export function readSignatures(text: string, syntax: Scheme['syntax']): Signatures | undefined {
  if (text.length > maxHeader) return undefined;
  const words = separator.test(text) ? text.split(separators, maxWords + 1) : [text];
  if (words.length > maxWords) return undefined;
  const items =
    syntax === 'bare'
      ? words.filter((word) => word !== '')
      : syntax === 'v1,'
        ? words.filter((word, index) => word !== '' && words[index - 1] === 'v1')
        : valuesOf(keys[syntax], words);
  if (items.length === 0 || items.length > maxSignatures) return undefined;
  if (syntax !== 't=,v1=') return { t: undefined, items };
  const [t, ...others] = new Set(valuesOf('t=', words));
  // With two different times, it would be unclear which one was signed and which one is checked.
  return others.length > 0 ? undefined : { t, items };
}

function valuesOf(key: string, words: readonly string[]): readonly string[] {
  const values: string[] = [];
  for (const word of words) if (word.startsWith(key)) values.push(word.slice(key.length));
  return values;
}

/** Writes a signature header: the inverse of `readSignatures`. */
export function writeSignatures({ t, items }: Signatures, syntax: Scheme['syntax']): string {
  if (syntax === 'bare') return items.join(',');
  if (syntax === 'v1,') return items.map((item) => `v1,${item}`).join(' ');
  const entries = items.map((item) => `${keys[syntax]}${item}`);
  return (syntax === 't=,v1=' ? [`t=${t}`, ...entries] : entries).join(',');
}

/** Decodes items as digests, leaving out those that aren't one. Upper-case hex and missing padding are accepted. */
export function readDigests(
  items: readonly string[],
  { encoding, hash }: Pick<Scheme, 'encoding' | 'hash'>,
): readonly Buffer[] {
  const size = digestBytes[hash];
  const digests: Buffer[] = [];
  for (const item of items) {
    const digest = Buffer.from(item, encoding);
    if (digest.byteLength !== size) continue;
    // Node skips what is not of the encoding: without this check, many texts would decode to the same signature.
    if (encoding === 'hex' ? item.length === 2 * size : isBase64Of(digest, item)) digests.push(digest);
  }
  return digests;
}

function isBase64Of(digest: Buffer, item: string): boolean {
  const base64 = digest.toString('base64');
  return item === base64 || item === base64.replace(/=+$/, '');
}
