/** The headers of a delivery: their texts, the signatures in them, and which of them are kept. */
import { configError } from '../errors/errors.ts';
import type { Headers, Scheme } from '../events/model.ts';

/** Headers as frameworks give them: an object with names in any case, or a `Headers` object as in `fetch`. */
export type AnyHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

/**
 * The headers by lower-case name. Names that differ only in case are one header, and all its lines are kept.
 *
 * @throws ConfigError `option_invalid` when they are not an object
 */
export function lowerCase(headers: AnyHeaders): Headers {
  requireObject(headers);
  const lower = new Map<string, string[]>();
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const lines = lower.get(name.toLowerCase()) ?? [];
    lower.set(name.toLowerCase(), lines.concat(value));
  }
  return Object.fromEntries(lower);
}

/** Headers that are not an object are the caller's mistake, not the sender's, so this throws. */
function requireObject(headers: unknown): void {
  if (typeof headers === 'object' && headers !== null) return;
  throw configError('option_invalid', {
    option: 'headers',
    expected: 'the headers of the request, an object or Headers',
    found: headers === undefined || headers === null ? String(headers) : `of type ${typeof headers}`,
  });
}

/** One header's text; several lines are joined as node:http joins them. */
export function headerText(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.length > 0 ? value.join(', ') : undefined;
}

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

const platformsOwn = /^(x-webhook-|webhook-|content-type$|user-agent$)/;

/** Which headers are kept with the bytes of a delivery: the platform's own, and the signature. */
export class KeptHeaders {
  readonly #signatureHeaders: readonly string[];
  readonly #credentials: ReadonlyMap<string, string>;

  /** `signatureHeaders` are kept besides the platform's own; `credentials` never are. */
  constructor(signatureHeaders: readonly string[], credentials: ReadonlyMap<string, string>) {
    this.#signatureHeaders = signatureHeaders;
    this.#credentials = credentials;
  }

  /** Those of a delivery's headers that are kept. */
  of(headers: Headers): Headers {
    const kept: Record<string, Headers[string]> = {};
    for (const name of Object.keys(headers)) {
      const isOfUse = platformsOwn.test(name) || this.#signatureHeaders.includes(name);
      if (isOfUse && !this.#credentials.has(name)) kept[name] = headers[name];
    }
    return kept;
  }

  /** Whether one of these headers may hold a signature. */
  haveSignature(headers: Headers): boolean {
    return Object.keys(headers).some(
      (name) => name.includes('signature') || this.#signatureHeaders.includes(name),
    );
  }
}
