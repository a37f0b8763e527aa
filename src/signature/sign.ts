import type { KeyObject } from 'node:crypto';
import { configError } from '../errors/errors.ts';
import { systemClock } from '../kit/clock.ts';
import { parseInstant } from '../kit/time.ts';
import type { Scheme } from '../events/model.ts';
import { bodyBytes, digestOf, fillParts, prepareScheme } from './content.ts';
import type { PreparedScheme, Values } from './content.ts';
import { requireKnown } from './known-options.ts';
import { resolveScheme } from './schemes.ts';
import type { SchemeName } from './schemes.ts';
import { prepareSecrets } from './secrets.ts';
import type { PreparedSecret, Secrets } from './secrets.ts';
import { writeSignatures } from './syntax.ts';

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

function millisecondsOf(timestamp: Date | number | string): number {
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
