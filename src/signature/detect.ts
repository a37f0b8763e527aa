import type { Headers, Scheme } from '../events/model.ts';
import { bodyBytes, prepareScheme } from './content.ts';
import { type AnyHeaders, headerText, lowerCase, readDigests, readSignatures } from './headers.ts';
import { describeScheme, encodings, hashes, keyKinds, syntaxes } from './schemes.ts';
import { type Digests, matchSignature } from './verify.ts';
import { prepareSecrets } from './secrets.ts';
import type { PreparedSecret, Secrets } from './secrets.ts';

/** A captured request: its headers and its raw bytes. */
export interface Sample {
  readonly headers: AnyHeaders;
  readonly body: Uint8Array | string;
}

/** A scheme in which every sample verified. */
export interface Detection {
  readonly scheme: Scheme;
  /** What to set as the option `signature`. */
  readonly option: string;
  readonly timestampSigned: boolean;
  /** For each sample, in order, the fingerprint of the secret that signed it. */
  readonly secrets: readonly string[];
}

const forms = hashes.flatMap((hash) => encodings.map((encoding) => ({ hash, encoding })));

/** More contents than the known schemes have: the same parts in other orders, with the separators of other services. */
const separators = ['.', '', ':', '\n'];
const signedWithBody = [
  '{t}',
  '{timestamp}',
  '{id}',
  '{id}.{timestamp}',
  '{timestamp}.{id}',
  '{id}.{t}',
  '{t}.{id}',
];
const contents = ['{body}'].concat(
  signedWithBody.flatMap((signed) =>
    separators.flatMap((between) => [`${signed}${between}{body}`, `{body}${between}${signed}`]),
  ),
);

/**
 * Finds out how captured requests are signed: tries every header, syntax, content, encoding, hash and key, and
 * returns the schemes in which all samples verify. Times are not checked, since captured requests are old.
 * A single result is the scheme to set. No result means that the scheme or the secret is another one.
 *
 * @throws ConfigError `secret_malformed` for a malformed secret.
 */
export function detectScheme(samples: readonly Sample[], secrets: Secrets): readonly Detection[] {
  const prepared = prepareSecrets(secrets);
  const [first, ...others] = samples.map((sample) => capture(sample));
  if (first === undefined) return [];
  const detections: Detection[] = [];
  for (const scheme of schemesFor(first.headers)) {
    const found = secretsBehind(scheme, [first, ...others], prepared);
    if (found === undefined) continue;
    const timestampSigned = /\{t(?:imestamp)?\}/.test(scheme.content);
    detections.push({ scheme, option: describeScheme(scheme), timestampSigned, secrets: found });
  }
  return detections;
}

/**
 * The headers that may carry a signature: those with `signature` in their name, or else those whose value has the form
 * of one. A bare digest is not enough, since a key or a request id may have that form as well.
 */
export function signatureHeaders(headers: Headers): readonly string[] {
  const named = Object.keys(headers).filter((name) => name.includes('signature'));
  if (named.length > 0) return named;
  const written = [...schemesFor(headers)].filter(({ syntax }) => syntax !== 'bare');
  return [...new Set(written.map(({ header }) => header))];
}

/** Whether a header has the form of a signature. A bare digest counts only in a header with `signature` in its name. */
export function carriesSignature(headers: Headers): boolean {
  for (const { header, syntax } of schemesFor(headers)) {
    if (syntax !== 'bare' || header.includes('signature')) return true;
  }
  return false;
}

interface Captured {
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly digests: Digests;
}

function capture({ headers, body }: Sample): Captured {
  return { headers: lowerCase(headers), bytes: bodyBytes(body), digests: new Map() };
}

/** Every scheme that fits the headers. Headers that can't be a signature are skipped before any HMAC is computed. */
function* schemesFor(headers: Headers): Generator<Scheme> {
  for (const header of Object.keys(headers)) {
    let isWritten = false;
    for (const syntax of syntaxes) {
      // In `v1,<signature>`, the part after the comma would be found again as a bare signature.
      if (syntax === 'bare' && isWritten) continue;
      const items = readSignatures(headerText(headers, header) ?? '', syntax)?.items ?? [];
      for (const { hash, encoding } of forms) {
        if (syntax === 'sha256=' && hash !== 'sha256') continue;
        if (readDigests(items, { hash, encoding }).length === 0) continue;
        isWritten = true;
        for (const content of contents) {
          // The syntax v1= can also read a header with t=. To find each scheme once, t=,v1= is tried with contents that
          // have {t}, and the other syntaxes with those that don't.
          if ((syntax === 't=,v1=') !== content.includes('{t}')) continue;
          for (const key of keyKinds) yield { header, syntax, content, encoding, hash, key };
        }
      }
    }
  }
}

/** The fingerprint of the secret behind each sample, or undefined when one of them doesn't verify. */
function secretsBehind(
  scheme: Scheme,
  samples: readonly Captured[],
  secrets: readonly PreparedSecret[],
): readonly string[] | undefined {
  const prepared = prepareScheme(scheme);
  const fingerprints: string[] = [];
  for (const { bytes, headers, digests } of samples) {
    const match = matchSignature(bytes, headers, secrets, prepared, digests);
    if (typeof match === 'string') return undefined;
    fingerprints.push(match.secret.fingerprint);
  }
  return fingerprints;
}
