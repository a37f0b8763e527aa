/** What users call: `sign` and `verify`, and the checks of their options. */
import type { KeyObject } from 'node:crypto';
import { closest } from '../errors/closest-name.ts';
import { configError } from '../errors/errors.ts';
import type { Scheme } from '../events/model.ts';
import { systemClock } from '../kit/clock.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';
import { parseInstant } from '../kit/time.ts';
import {
  type PreparedScheme,
  type Values,
  bodyBytes,
  digestOf,
  fillParts,
  prepareScheme,
} from './content.ts';
import { type AnyHeaders, lowerCase, writeSignatures } from './headers.ts';
import { type SchemeName, type SignatureOption, resolveScheme, resolveSchemes } from './schemes.ts';
import { type PreparedSecret, type Secrets, prepareSecrets } from './secrets.ts';
import { type Verification, verifySignature } from './verify.ts';

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
 * const verification = verify(rawBody, request.headers, { secrets });
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

/** Options of `sign`. */
export interface SignOptions {
  /** The secret to sign with, or several: each adds one signature, as the platform does after a rotation. */
  readonly secrets: Secrets;
  /** How to sign: the name of a known scheme, or a scheme in full. @default 't-v1-hex-whole' */
  readonly scheme?: SchemeName | Scheme | undefined;
  /** The event's trace id. Required by schemes that sign `{id}`; others ignore it. */
  readonly traceId?: string | undefined;
  /**
   * The time of the delivery: a Date or milliseconds since 1970, written as the scheme's header writes it (ISO
   * 8601, or whole seconds for Standard Webhooks); or a text, sent as it is.
   * @default now
   */
  readonly timestamp?: Date | number | string | undefined;
  /** The `t=` of the signature, sent as it is. @default `timestamp` in whole seconds since 1970 */
  readonly t?: number | string | undefined;
}

/**
 * Signs a body as the platform would, for tests and for tools that send deliveries. Returns the headers to send, names
 * in lower case: the signature, and the trace id and timestamp if the scheme signs them.
 *
 * @param body The bytes that will be sent, or their text. Sign exactly these: JSON serialized again may differ.
 * @throws ConfigError `secret_malformed` for a malformed secret; `option_invalid` for an unknown scheme, a
 * scheme that a secret has no key for, a missing trace id, or a text that no header can carry; `option_unknown`.
 * @example
 * const headers = sign(body, { secrets: 'whsec_dGVzdA==', scheme: 'v1-hex-whole' });
 * // { 'x-webhook-signature': 'v1=…' }
 */
export function sign(body: Uint8Array | string, options: SignOptions): Record<string, string> {
  requireKnown(options, ['secrets', 'scheme', 'traceId', 'timestamp', 't'], 'sign');
  const bytes = bodyBytes(body);
  const scheme = resolveScheme(options.scheme ?? 't-v1-hex-whole', 'scheme');
  const prepared = prepareScheme(scheme);
  const values = valuesFor(prepared, options);
  const before = fillParts(prepared.before, values);
  const after = fillParts(prepared.after, values);
  const items = prepareSecrets(options.secrets).map((secret) =>
    digestOf(scheme.hash, keyFor(secret, scheme), before, bytes, after).toString(scheme.encoding),
  );
  return {
    [scheme.header]: writeSignatures({ t: values.t, items }, scheme.syntax),
    ...(values.id !== undefined && { [prepared.idHeader]: values.id }),
    ...(values.timestamp !== undefined && { [prepared.timestampHeader]: values.timestamp }),
  };
}

function keyFor(secret: PreparedSecret, { key: kind }: Scheme): KeyObject {
  const key = secret.keys[kind];
  if (key !== undefined) return key;
  throw configError('option_invalid', {
    option: 'scheme',
    expected: 'a scheme that every secret has a key for',
    found: `one with the key ${kind}, and the secret ${secret.fingerprint} has no base64 after whsec_`,
  });
}

function valuesFor({ scheme, signs, timestampHeader }: PreparedScheme, options: SignOptions): Values {
  const { timestamp = systemClock.now() } = options;
  return {
    t:
      scheme.syntax === 't=,v1='
        ? sendable('t', options.t ?? Math.floor(millisecondsOf(timestamp) / 1_000))
        : undefined,
    id: signs.id ? sendable('traceId', options.traceId) : undefined,
    timestamp: signs.timestamp ? writeTimestamp(timestamp, timestampHeader) : undefined,
  };
}

function writeTimestamp(timestamp: Date | number | string, header: string): string {
  if (typeof timestamp === 'string') return sendable('timestamp', timestamp);
  const milliseconds = millisecondsOf(timestamp);
  if (header === 'webhook-timestamp') return String(Math.floor(milliseconds / 1_000));
  return new Date(milliseconds).toISOString();
}

/** @throws ConfigError `option_invalid` for what is no time */
export function millisecondsOf(timestamp: Date | number | string): number {
  const milliseconds =
    typeof timestamp === 'string' ? (parseInstant(timestamp)?.milliseconds ?? NaN) : Number(timestamp);
  // NaN, or outside the range of Date, in which case it could not be written as text.
  if (!Number.isNaN(new Date(milliseconds).getTime())) return milliseconds;
  const expected = 'a Date, milliseconds since 1970 or a text that is a time';
  throw configError('option_invalid', { option: 'timestamp', expected, found: 'not a time' });
}

/** The text of a value. Refuses text that would break out of its header, and a `t` that would be read as two entries. */
function sendable(option: string, value: number | string | undefined): string {
  const text = value === undefined ? '' : String(value);
  const isVisible = /^[ -~]+$/.test(text) && text === text.trim();
  const isOneEntry = option !== 't' || !/[\s,;]/.test(text);
  if (isVisible && isOneEntry) return text;
  throw configError('option_invalid', {
    option,
    expected: 'visible ASCII text, since the scheme signs it and a header carries it',
    found: value === undefined ? 'missing' : 'something else',
  });
}

/**
 * Refuses unknown options of `verify` and `sign`. `verify` calls the scheme `signature`, and `sign` calls it `scheme`:
 * if the wrong name were ignored, the default would be used instead of the scheme that the user meant.
 *
 * @throws ConfigError `option_unknown`, or `option_invalid` when there are no options at all
 */
function requireKnown(options: unknown, known: readonly string[], where: 'verify' | 'sign'): void {
  if (typeof options !== 'object' || options === null) {
    throw configError('option_invalid', {
      option: `${where}(options)`,
      expected: `an object with ${known.join(', ')}`,
      found: options === null ? 'null' : `of type ${typeof options}`,
    });
  }
  const option = Object.keys(options).find((name) => !known.includes(name));
  if (option === undefined) return;
  throw configError('option_unknown', {
    option,
    where,
    meant: closest(option, known),
    known: known.join(', '),
  });
}
