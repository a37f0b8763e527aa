import { hash } from 'node:crypto';
import type { z } from 'zod';
import { type Instant, nanosecondsOf, parseKnownTime } from '../kit/time.ts';
import { type BodyDecoder, type Unreadable, copyOf } from './decoding.ts';
import { isRecord } from '../kit/values.ts';
import { assignParsed, documentedPart } from './documented-part.ts';
import type { CallEvent, EventSource, Headers, Issue } from './model.ts';
import {
  type KnownEventName,
  eventNames,
  headerOf,
  idUnder,
  isKnownEventName,
  readId,
  unknownEventName,
} from './names.ts';
import { type PlainShape, plainShapeOf, readPlainFields, unusual } from './plain-reader.ts';
import { envelopeFieldNames, payloadSchemas } from './schemas.ts';

type Fields = Record<string, unknown>;

/** An event, and whether its body and its header disagree about the trace id (the body, being signed, wins). */
interface ReadEvent {
  readonly ok: true;
  readonly event: CallEvent;
  readonly traceIdDiffers: boolean;
}

/** The result of reading raw bytes: an event, or the reason why there is none. */
export type Reading = ReadEvent | { readonly ok: false; readonly reason: Unreadable };

/** What an event is read from: the raw bytes of a delivery, and what else is known about it. */
interface RawEvent {
  /** Its digest identifies an event that has no trace id. */
  readonly body: Uint8Array;
  readonly headers: Headers;
  /** When the delivery arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** @default 'delivered' */
  readonly source?: EventSource | undefined;
}

/**
 * Reads raw bytes as an event: when they arrive, and again, with the same result, when they are dispatched. Returns a
 * promise for a large body, which takes several turns of the event loop.
 */
export function readBytes(decoder: BodyDecoder, raw: RawEvent): Reading | Promise<Reading> {
  const decoded = decoder.decode(raw.body);
  if (decoded instanceof Promise) {
    return decoded.then((large) => (large.ok ? readEvent(large.value, raw, true) : large));
  }
  return decoded.ok ? readEvent(decoded.value, raw) : decoded;
}

/** The names under which the platform may send the organization's id, in the body or in the payload. */
export const organizationIdNames = ['organizationId', 'organization_id'] as const;

/**
 * Reads the event that a delivery reports. Never fails: what is missing is filled from the headers, the time of arrival
 * or the digest, unknown fields are kept, and `issues` lists where a known event is not what its name promises.
 *
 * Source: "Envelope", "Payload fields", "Call transfer event body".
 *
 * @param fields The JSON object of the body. It is never changed.
 * @param isLarge Whether the body is too large to be copied whole in one turn of the event loop.
 * @example
 * const { event } = readEvent({ eventName: 'CallHandler.CallEnded', payload: { call_id: 7 } }, …);
 * event.callId // '7'
 */
export function readEvent(
  fields: Readonly<Fields>,
  { body, headers, receivedAt, source = 'delivered' }: RawEvent,
  isLarge = false,
): ReadEvent {
  const { traceId, traceIdSource, traceIdDiffers } = readTraceId(fields, headers, body);
  const named = readId(fields['eventName']) ?? readId(headerOf(headers, 'x-webhook-event'));
  const eventName = named ?? nameByFields(fields);
  const { payload, issues } = readPayload(eventName, fields, isLarge);
  const { timestamp, instant, source: occurredAtSource } = readTime(fields, headers, receivedAt);
  const event: CallEvent = {
    traceId,
    traceIdSource,
    source,
    eventName,
    callId: readId(payload['call_id']),
    organizationId: idUnder(fields, organizationIdNames) ?? idUnder(payload, organizationIdNames),
    payload,
    body: fields,
    timestamp,
    occurredAt: new Date(instant.milliseconds),
    occurredAtNs: nanosecondsOf(instant),
    occurredAtSource,
    issues,
  };
  return { ok: true, event, traceIdDiffers };
}

/** What identifies an event, and where it was found. */
interface TraceId extends Pick<CallEvent, 'traceId' | 'traceIdSource'> {
  /** Whether body and header have different trace ids. */
  readonly traceIdDiffers: boolean;
}

/**
 * The event's identity: the body's `traceId`, which is signed, else the header's, else the digest of the body. Values
 * that `readId` refuses are skipped. `webhook-id`, the header of Standard Webhooks, identifies a delivery rather than
 * what its body is about, so it may differ from the body's id.
 */
function readTraceId(fields: Readonly<Fields>, headers: Headers, body: Uint8Array): TraceId {
  const inBody = readId(fields['traceId']);
  const inHeader = readId(headerOf(headers, 'x-webhook-traceid'));
  if (inBody !== undefined) {
    const traceIdDiffers = inHeader !== undefined && inHeader !== inBody;
    return { traceId: inBody, traceIdSource: 'body', traceIdDiffers };
  }
  const outside = inHeader ?? readId(headerOf(headers, 'webhook-id'));
  if (outside !== undefined) return { traceId: outside, traceIdSource: 'header', traceIdDiffers: false };
  return {
    traceId: `sha256:${hash('sha256', body, 'hex')}`,
    traceIdSource: 'digest',
    traceIdDiffers: false,
  };
}

/** The documented sample of a transfer has no name, so a transfer is also recognized by its fields. */
function nameByFields(fields: Readonly<Fields>): string {
  const payload = unwrapPayload(fields);
  const hasCallId = idUnder(payload, ['call_id', 'callId', '_id']) !== undefined;
  const isTransfer = hasCallId && readId(payload['transfer_to']) !== undefined;
  return isTransfer ? eventNames.callTransferred : unknownEventName;
}

interface EventTime {
  /** As it was sent. */
  readonly timestamp: CallEvent['timestamp'];
  readonly instant: Instant;
  readonly source: CallEvent['occurredAtSource'];
}

/** When the event happened, from the body, else the header, else the arrival. An unreadable time is kept as sent. */
function readTime(fields: Readonly<Fields>, headers: Headers, receivedAt: number): EventTime {
  const inBody = fields['timestamp'];
  const inHeader = headerOf(headers, 'x-webhook-timestamp');
  const timestamp = typeof inBody === 'string' || typeof inBody === 'number' ? inBody : inHeader;
  const bodyTime = parseKnownTime(inBody);
  if (bodyTime !== undefined) return { timestamp, instant: bodyTime, source: 'body' };
  const headerTime = parseKnownTime(inHeader);
  if (headerTime !== undefined) return { timestamp, instant: headerTime, source: 'header' };
  const arrival = { milliseconds: Math.trunc(receivedAt), nanoseconds: 0 };
  return { timestamp, instant: arrival, source: 'arrival' };
}

/** A payload, and where it is not what the event's name promises. */
interface ReadPayload {
  readonly payload: Fields;
  readonly issues: readonly Issue[];
}

/** The fields of the payload, which a flat event has at the top level. Always a copy: the body stays as sent. */
function unwrapPayload(fields: Readonly<Fields>): Fields {
  const wrapped = fields['payload'];
  return isRecord(wrapped) ? copyOf(wrapped) : copyWithoutEnvelope(fields);
}

/**
 * The documented ids of a payload, with the other names that the platform uses for them. `_id` is read as the call's id
 * only in a known event: an unknown event may use it for anything.
 */
const idAliases = { call_id: ['callId'], agent_id: ['ai_agent_id'] } as const;
export const idAliasesOfKnown = { ...idAliases, call_id: ['callId', '_id'] } as const;
const idNames = allNames(idAliases);
const idNamesOfKnown = allNames(idAliasesOfKnown);

/** Each documented name, and all names in the order in which they are tried. */
function allNames(aliases: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(aliases).map(([name, others]) => [name, [name, ...others]] as const);
}

/**
 * Reads the ids under their documented names, then compares a known event with what its name promises. Only the
 * documented part of a large body is copied: copying all would take too long for one turn of the event loop.
 */
function readPayload(eventName: string, fields: Readonly<Fields>, isLarge: boolean): ReadPayload {
  const payload = unwrapPayload(fields);
  const isKnown = isKnownEventName(eventName);
  for (const [name, names] of isKnown ? idNamesOfKnown : idNames) {
    const id = idUnder(payload, names);
    if (id !== undefined) payload[name] = id;
  }
  if (!isKnown) return { payload, issues: [] };
  const { payload: wrapped = null } = fields;
  // A missing or null payload means a flat event; any other payload must be an object.
  const isReadable = wrapped === null || isRecord(wrapped);
  const issues = isReadable ? [] : [{ path: 'payload', expected: 'object' }];
  const shape = plainShapes.get(eventName) ?? makePlainShape(eventName);
  const plain = isLarge ? unusual : readPlainFields(shape, payload);
  if (plain !== unusual) return { payload: plain as Fields, issues };
  return compareWithSchema(eventName, payload, issues);
}

/** Made when the first event of a name comes. */
const plainShapes = new Map<KnownEventName, PlainShape>();

function makePlainShape(eventName: KnownEventName): PlainShape {
  const made = plainShapeOf(payloadSchemas[eventName]);
  plainShapes.set(eventName, made);
  return made;
}

/** Reads a payload with the schema's own parser, which converts values and finds what is wrong. */
function compareWithSchema(
  eventName: KnownEventName,
  payload: Fields,
  issues: readonly Issue[],
): ReadPayload {
  const schema = payloadSchemas[eventName];
  const parsed = schema.safeParse(documentedPart(schema, payload));
  if (parsed.success) return { payload: assignParsed(payload, parsed.data), issues };
  return { payload, issues: [...issues, ...parsed.error.issues.slice(0, maxIssues).map(toIssue)] };
}

const maxIssues = 100;

function copyWithoutEnvelope(fields: Readonly<Fields>): Fields {
  const copy: Fields = {};
  for (const name of Object.keys(fields)) {
    if (name !== '__proto__' && !envelopeFieldNames.includes(name)) copy[name] = fields[name];
  }
  return copy;
}

/** The path and what was expected there, without the value found: issues are logged. */
function toIssue(issue: z.core.$ZodIssue): Issue {
  return {
    path: ['payload', ...issue.path].join('.'),
    expected: issue.code === 'invalid_type' ? issue.expected : issue.message,
  };
}
