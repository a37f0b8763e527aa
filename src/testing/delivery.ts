import { z } from 'zod';
import { decodeBody } from '../events/decoding.ts';
import { readId } from '../events/names.ts';
import { systemClock } from '../kit/clock.ts';
import { configError } from '../errors/errors.ts';
import { lowerCased } from '../kit/header-fields.ts';
import { describe, parseStrictly } from '../errors/option-problems.ts';
import { defined, isObject, isRecord } from '../kit/values.ts';
import type { Scheme } from '../events/model.ts';
import type { SchemeName } from '../signature/schemes.ts';
import type { Secrets } from '../signature/secrets.ts';
import { type SignOptions, millisecondsOf, sign } from '../signature/sign-and-verify.ts';
import { type Fixture, fixture, readFixture } from './fixtures.ts';

/** The secret that `buildDelivery` signs with and `testReceiver` expects. Made up: it protects nothing. */
export const testSecret = 'whsec_cmluZ2JhY2stdGVzdC1zZWNyZXQ=';

/** A delivery, ready to be sent. */
export interface SignedDelivery {
  /** The raw bytes: send exactly these. */
  readonly body: Buffer;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * What a delivery is made of: a fixture's name, a fixture, the parsed JSON of a fixture's file (`ringback inbox event`
 * and `inbox delivery` print the same form), a body to be sent as JSON, or raw bytes.
 */
export type DeliverySource = string | Fixture | Uint8Array | Readonly<Record<string, unknown>>;

/** Options of `buildDelivery`. */
export interface DeliveryOptions {
  /** The secret to sign with; several make one signature each, as after a rotation. @default testSecret */
  readonly secret?: Secrets | undefined;
  /** How to sign. @default 't-v1-hex-whole' */
  readonly scheme?: SchemeName | Scheme | undefined;
  /** Replaces the event's trace id, in header and body: with another trace id, the delivery is another event. */
  readonly traceId?: string | undefined;
  /** Replaces the call's id. */
  readonly callId?: string | undefined;
  /** When it is sent: a Date, milliseconds since 1970, or text that is sent unchanged. @default now */
  readonly timestamp?: Date | number | string | undefined;
  /** Headers to add or to replace; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Checks only the names of the options. The functions that use the values check these. */
const optionsSchema = z
  .strictObject({
    secret: z.unknown(),
    scheme: z.unknown(),
    traceId: z.unknown(),
    callId: z.unknown(),
    timestamp: z.unknown(),
    headers: z.unknown(),
  })
  .partial();

/**
 * Creates a signed delivery, as the platform would send it now.
 *
 * @throws RingbackError `fixture_unknown`; ConfigError for an invalid source, secret, scheme or timestamp
 * @example
 * const delivery = buildDelivery('call-ended', { callId: 'call_42', traceId: 'trace-1' });
 * await request(app).post('/webhooks').set(delivery.headers).send(delivery.body.toString());
 */
export function buildDelivery(source: DeliverySource, options: DeliveryOptions = {}): SignedDelivery {
  parseStrictly(optionsSchema, options, 'buildDelivery');
  const { secret = testSecret, scheme, timestamp = systemClock.now() } = options;
  const { headers, body } = withIds(unsigned(source), options);
  const traceId = headers['x-webhook-traceid'];
  const signature: SignOptions = {
    secrets: secret,
    timestamp,
    ...(scheme !== undefined && { scheme }),
    ...(traceId !== undefined && { traceId }),
  };
  const all = {
    ...headers,
    'x-webhook-timestamp':
      typeof timestamp === 'string' ? timestamp : new Date(millisecondsOf(timestamp)).toISOString(),
    ...sign(body, signature),
    ...lowerCased(options.headers ?? {}),
  };
  return { body, headers: present(all) };
}

function unsigned(source: DeliverySource): SignedDelivery {
  if (typeof source === 'string') return fixture(source);
  if (!isObject(source)) throw noSource(source);
  if (source instanceof Uint8Array) return fromBody(Buffer.from(source));
  if (isFixture(source)) return source;
  // The file of a fixture must not be sent as a body: it would be accepted as an event without a name.
  return readFixture('', source) ?? fromBody(Buffer.from(JSON.stringify(source)));
}

/** Without types, a common mistake is a misspelled field of a test's own object, which is then undefined. */
function noSource(source: unknown) {
  return configError('option_invalid', {
    option: 'buildDelivery(source)',
    expected: "a fixture's name, an object to be sent as JSON, or raw bytes",
    found: describe(source),
  });
}

function isFixture(source: Fixture | Readonly<Record<string, unknown>>): source is Fixture {
  return Buffer.isBuffer(source['body']);
}

/** A delivery of a body. Its headers repeat the body's name and trace id, if it can be read. */
function fromBody(body: Buffer): SignedDelivery {
  const decoded = decodeBody(body);
  const { eventName, traceId } = decoded.ok ? decoded.value : {};
  return {
    body,
    headers: present({
      'content-type': 'application/json',
      'x-webhook-event': readId(eventName),
      'x-webhook-traceid': readId(traceId),
    }),
  };
}

/**
 * Replaces the ids of a delivery. The trace id goes into the body too: if only a header had it, the same bytes would
 * still count as the same event.
 */
function withIds(delivery: SignedDelivery, { traceId, callId }: DeliveryOptions): SignedDelivery {
  if (traceId === undefined && callId === undefined) return delivery;
  const headers = { ...delivery.headers, ...(traceId !== undefined && { 'x-webhook-traceid': traceId }) };
  const decoded = decodeBody(delivery.body);
  if (!decoded.ok) return { headers, body: delivery.body };
  const body = { ...decoded.value, ...(traceId !== undefined && { traceId }) };
  const changed = callId === undefined ? body : withCallId(body, callId);
  return { headers, body: Buffer.from(JSON.stringify(changed)) };
}

function withCallId(body: Readonly<Record<string, unknown>>, callId: string): Record<string, unknown> {
  const { payload } = body;
  return isRecord(payload)
    ? { ...body, payload: { ...payload, call_id: callId } }
    : { ...body, call_id: callId };
}

function present(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return defined(headers) as Record<string, string>;
}
