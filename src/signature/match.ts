import { type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Headers, Scheme } from '../events/model.ts';
import { digestOf, fillParts } from './content.ts';
import type { PreparedScheme, Values } from './content.ts';
import { headerText } from './headers.ts';
import type { PreparedSecret } from './secrets.ts';
import { readDigests, readSignatures } from './syntax.ts';

/**
 * Why a signature is refused; for the log and the metrics, never for the sender. In the order of the checks: if schemes
 * fail for different reasons, the one that is last in this list is reported.
 */
export const signatureReasons = [
  'signature_missing',
  'signature_malformed',
  'timestamp_missing',
  'signature_mismatch',
  'timestamp_unreadable',
  'timestamp_out_of_tolerance',
] as const;

export type SignatureReason = (typeof signatureReasons)[number];

/** A signature made with one of the secrets. Its time has not been checked yet. */
export interface Match {
  readonly secret: PreparedSecret;
  readonly values: Values;
}

/** The digests already computed for one delivery: several schemes need the same one. */
export type Digests = Map<KeyObject, Map<string, Buffer>>;

/**
 * Finds the secret that signed these bytes in this scheme, or the reason why there is none. Doesn't check the
 * signature's time.
 */
export function matchSignature(
  bytes: Uint8Array,
  headers: Headers,
  secrets: readonly PreparedSecret[],
  prepared: PreparedScheme,
  digests: Digests | undefined,
): Match | SignatureReason {
  const { scheme, signs } = prepared;
  const text = headerText(headers, scheme.header);
  if (text === undefined || text === '') return 'signature_missing';
  const signatures = readSignatures(text, scheme.syntax);
  if (signatures === undefined) return 'signature_malformed';
  const claimed = readDigests(signatures.items, scheme);
  // Refused before any HMAC: the body may be megabytes.
  if (claimed.length === 0) return 'signature_malformed';

  const values: Values = {
    t: signatures.t,
    id: signs.id ? headerText(headers, prepared.idHeader) : undefined,
    timestamp: headerText(headers, prepared.timestampHeader),
  };
  if (signs.t && values.t === undefined) return 'timestamp_missing';
  if (signs.timestamp && values.timestamp === undefined) return 'timestamp_missing';
  if (signs.id && values.id === undefined) return 'signature_malformed';

  const secret = secretThatSigned(claimed, bytes, secrets, prepared, values, digests);
  return secret === undefined ? 'signature_mismatch' : { secret, values };
}

function secretThatSigned(
  claimed: readonly Buffer[],
  bytes: Uint8Array,
  secrets: readonly PreparedSecret[],
  { scheme: { hash, key: kind }, before, after }: PreparedScheme,
  values: Values,
  digests: Digests | undefined,
): PreparedSecret | undefined {
  const head = fillParts(before, values);
  const tail = fillParts(after, values);
  for (const secret of secrets) {
    const key = secret.keys[kind];
    if (key === undefined) continue;
    const digest =
      digests === undefined
        ? digestOf(hash, key, head, bytes, tail)
        : digestOnce(digests, hash, key, head, bytes, tail);
    // All are as long as a digest of this hash.
    for (const claim of claimed) if (timingSafeEqual(claim, digest)) return secret;
  }
  return undefined;
}

/** The digest of the content, computed at most once for each hash, key and text around the body. */
function digestOnce(
  digests: Digests,
  hash: Scheme['hash'],
  key: KeyObject,
  head: string,
  bytes: Uint8Array,
  tail: string,
): Buffer {
  const ofKey = digests.get(key) ?? new Map<string, Buffer>();
  digests.set(key, ofKey);
  const content = JSON.stringify([hash, head, tail]);
  const digest = ofKey.get(content) ?? digestOf(hash, key, head, bytes, tail);
  ofKey.set(content, digest);
  return digest;
}
