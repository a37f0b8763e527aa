import { configError } from '../errors/errors.ts';
import { systemClock } from '../kit/clock.ts';
import { parseDuration } from '../kit/duration.ts';
import type { Duration } from '../kit/duration.ts';
import { type Instant, parseInstant } from '../kit/time.ts';
import type { Headers, Scheme } from '../events/model.ts';
import { bodyBytes, prepareScheme } from './content.ts';
import type { PreparedScheme, Values } from './content.ts';
import { headerText, lowerCase } from './headers.ts';
import type { AnyHeaders } from './headers.ts';
import { requireKnown } from './known-options.ts';
import { resolveSchemes } from './schemes.ts';
import type { SignatureOption } from './schemes.ts';
import { matchSignature, signatureReasons } from './match.ts';
import type { Digests, SignatureReason } from './match.ts';
import { prepareSecrets } from './secrets.ts';
import type { PreparedSecret, Secrets } from './secrets.ts';
import { readSignatures } from './syntax.ts';

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

/** A signed time must be readable, and every readable time, signed or not, must be within the tolerance. */
function whatIsWrongWithTheTime(
  { signs }: PreparedScheme,
  values: Values,
  headers: Headers,
  timing: Timing,
): SignatureReason | undefined {
  const t = parseInstant(values.t);
  const timestamp = parseInstant(values.timestamp);
  if ((signs.t && t === undefined) || (signs.timestamp && timestamp === undefined))
    return 'timestamp_unreadable';
  const platforms = headerText(headers, 'x-webhook-timestamp');
  const third = platforms === values.timestamp ? undefined : parseInstant(platforms);
  const isNear = isWithin(t, timing) && isWithin(timestamp, timing) && isWithin(third, timing);
  return isNear ? undefined : 'timestamp_out_of_tolerance';
}

/** Checks both directions: otherwise a delivery signed for next year could be captured and replayed until then. */
function isWithin(instant: Instant | undefined, { now, tolerance }: Timing): boolean {
  if (instant === undefined) return true;
  const distance = (instant.milliseconds - Math.round(now)) * 1e6 + instant.nanoseconds;
  return Math.abs(distance) <= tolerance * 1e6;
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

/** Options of `verify`. */
export interface VerifyOptions {
  /** The subscription's signing secret, or several during a rotation: any of them may have signed. */
  readonly secrets: Secrets;
  /**
   * How the platform signs. `'auto'` tries every known scheme on each call. Set one scheme once you know it
   * (`describeScheme` of a verification's scheme): with `'auto'`, a captured delivery whose signed time was moved to the
   * beginning of its body can verify in another scheme.
   * @default 'auto'
   */
  readonly signature?: SignatureOption | undefined;
  /** How far the delivery's time may be from `now`, in either direction. @default '5m' */
  readonly tolerance?: Duration | undefined;
  /** The time to compare with: a Date, or milliseconds since 1970. @default now */
  readonly now?: Date | number | undefined;
}

/**
 * Checks whether a delivery is from the platform: whether one of your secrets signed its bytes.
 *
 * @param body The raw bytes of the request. Text is read as UTF-8; a parsed body can't be verified.
 * @param headers The request's headers.
 * @returns `ok: true` with the scheme and the secret's fingerprint, or `ok: false` with a reason for your log.
 * It doesn't throw for a bad signature.
 * @throws ConfigError for invalid options: `secret_malformed`, `option_invalid`, `option_unknown`.
 * @example
 * const verification = verify(request.body, request.headers, { secrets: process.env.WEBHOOK_SECRET });
 * if (!verification.ok) return response.status(401).end();
 */
export function verify(body: Uint8Array | string, headers: AnyHeaders, options: VerifyOptions): Verification {
  requireKnown(options, ['secrets', 'signature', 'tolerance', 'now'], 'verify');
  const { secrets, signature = 'auto', tolerance = '5m', now = systemClock.now() } = options;
  const timing = { now: readNow(now), tolerance: readTolerance(tolerance) };
  const bytes = bodyBytes(body);
  return verifySignature(
    bytes,
    lowerCase(headers),
    prepareSecrets(secrets),
    resolveSchemes(signature),
    timing,
  );
}

function readNow(now: Date | number): number {
  const milliseconds = Number(now);
  if (Number.isFinite(milliseconds)) return milliseconds;
  const expected = 'a Date or milliseconds since 1970';
  throw configError('option_invalid', { option: 'now', expected, found: 'not a time' });
}

function readTolerance(tolerance: Duration): number {
  const milliseconds = parseDuration(tolerance);
  if (milliseconds !== undefined) return milliseconds;
  const expected = "milliseconds or a duration such as '5m'";
  throw configError('option_invalid', { option: 'tolerance', expected, found: String(tolerance) });
}
