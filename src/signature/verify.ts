import { type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Headers, Scheme } from '../events/model.ts';
import { parseInstant } from '../kit/time.ts';
import { type PreparedScheme, type Values, digestOf, fillParts, prepareScheme } from './content.ts';
import { headerText, readDigests, readSignatures } from './headers.ts';
import type { PreparedSecret } from './secrets.ts';

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
interface Match {
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

/** Whether a delivery is authentic. `reason` is for your log, never for the sender: a forger would learn from it. */
export type Verification =
  | {
      readonly ok: true;
      /** The scheme it verified in. */
      readonly scheme: Scheme;
      /** Fingerprint of the secret that signed it. */
      readonly secret: string;
      /** Whether the signature covers a time. If not, anybody who saw an old delivery can send it again. */
      readonly timestampSigned: boolean;
    }
  | { readonly ok: false; readonly reason: SignatureReason };

/** The current time, and how far from it a delivery's time may be, both in milliseconds. */
export interface Timing {
  readonly now: number;
  readonly tolerance: number;
}

/**
 * Checks whether one of the secrets signed these bytes in one of the schemes, at a time within the tolerance. Header
 * names are in lower case. Never throws, whatever is sent.
 *
 * Nearly every delivery verifies in the first scheme, so digests are kept only from the second on.
 */
export function verifySignature(
  bytes: Uint8Array,
  headers: Headers,
  secrets: readonly PreparedSecret[],
  schemes: readonly PreparedScheme[],
  timing: Timing,
): Verification {
  let digests: Digests | undefined;
  let furthest: SignatureReason = 'signature_missing';
  for (const prepared of schemes) {
    const match = matchSignature(bytes, headers, secrets, prepared, digests);
    if (typeof match === 'string') {
      furthest = furtherOf(furthest, match);
      digests ??= new Map();
      continue;
    }
    // Checked after the signature: a reason about the time of an unauthenticated delivery would mislead.
    const reason = whatIsWrongWithTheTime(prepared, match.values, headers, timing);
    if (reason !== undefined) return { ok: false, reason };
    const { scheme, signs } = prepared;
    return {
      ok: true,
      scheme,
      secret: match.secret.fingerprint,
      timestampSigned: signs.t || signs.timestamp,
    };
  }
  return { ok: false, reason: furthest };
}

/** The reason that comes later in the order of the checks. */
export function furtherOf(left: SignatureReason, right: SignatureReason): SignatureReason {
  return signatureReasons.indexOf(left) < signatureReasons.indexOf(right) ? right : left;
}

/**
 * A signed time must be readable, and every readable time, signed or not, must be within the tolerance, in both
 * directions: otherwise a delivery signed for next year could be captured and replayed until then.
 */
function whatIsWrongWithTheTime(
  { signs }: PreparedScheme,
  values: Values,
  headers: Headers,
  { now, tolerance }: Timing,
): SignatureReason | undefined {
  const t = parseInstant(values.t);
  const timestamp = parseInstant(values.timestamp);
  if ((signs.t && t === undefined) || (signs.timestamp && timestamp === undefined))
    return 'timestamp_unreadable';
  const platformTimestamp = headerText(headers, 'x-webhook-timestamp');
  const platformTime = platformTimestamp === values.timestamp ? undefined : parseInstant(platformTimestamp);
  for (const instant of [t, timestamp, platformTime]) {
    if (instant === undefined) continue;
    const distance = (instant.milliseconds - Math.round(now)) * 1e6 + instant.nanoseconds;
    if (Math.abs(distance) > tolerance * 1e6) return 'timestamp_out_of_tolerance';
  }
  return undefined;
}

/**
 * The time that the signature of a delivery covers, in milliseconds since 1970, once it has verified in this scheme.
 * Undefined if the scheme signs no time.
 */
export function signedTimeOf(headers: Headers, scheme: Scheme): number | undefined {
  const { signs, timestampHeader } = prepareScheme(scheme);
  if (signs.timestamp) return parseInstant(headerText(headers, timestampHeader))?.milliseconds;
  if (!signs.t) return undefined;
  const signatures = readSignatures(headerText(headers, scheme.header) ?? '', scheme.syntax);
  return parseInstant(signatures?.t)?.milliseconds;
}
