import type { Scheme } from '../events/model.ts';
import { digestBytes } from './hmac.ts';

/** Limits far above what two secrets in rotation need, and low enough that reading a hostile header costs little. */
const maxHeader = 8_192;
const maxSignatures = 16;
const maxWords = 2 * maxSignatures;

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
  const items = itemsAmong(words, syntax);
  if (items.length === 0 || items.length > maxSignatures) return undefined;
  if (syntax !== 't=,v1=') return { t: undefined, items };
  const times = valuesOf('t=', words);
  // With two different times, it would be unclear which one was signed and which one is checked.
  if (times.some((time) => time !== times[0])) return undefined;
  return { t: times[0], items };
}

function itemsAmong(words: readonly string[], syntax: Scheme['syntax']): readonly string[] {
  if (syntax === 'bare') return words.filter((word) => word !== '');
  if (syntax === 'v1,') return words.filter((word, index) => word !== '' && words[index - 1] === 'v1');
  return valuesOf(keys[syntax], words);
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
  scheme: Pick<Scheme, 'encoding' | 'hash'>,
): readonly Buffer[] {
  const digests: Buffer[] = [];
  for (const item of items) {
    const digest = readDigest(item, scheme);
    if (digest !== undefined) digests.push(digest);
  }
  return digests;
}

function readDigest(item: string, scheme: Pick<Scheme, 'encoding' | 'hash'>): Buffer | undefined {
  const size = digestBytes[scheme.hash];
  if (scheme.encoding === 'hex') {
    if (item.length !== size * 2) return undefined;
    const digest = Buffer.from(item, 'hex');
    return digest.byteLength === size ? digest : undefined;
  }
  if (item.length < Math.ceil((size * 4) / 3)) return undefined;
  const digest = Buffer.from(item, 'base64');
  // Node skips characters that aren't base64: without this check, many texts would decode to the same signature.
  return digest.byteLength === size && isSpelling(item, digest.toString('base64')) ? digest : undefined;
}

function isSpelling(item: string, base64: string): boolean {
  return item === base64 || item === base64.replace(/=+$/, '');
}
