import type { CallEvent, EventSource, Headers } from './model.ts';
import { type Instant, nanosecondsOf, parseKnownTime } from '../kit/time.ts';
import { headerOf, idUnder, readId, readTraceId } from './ids.ts';
import { eventNames, unknownEventName } from './names.ts';
import { readPayload, unwrapPayload } from './read-payload.ts';

/** The names under which the platform may send the organization's id, in the body or in the payload. */
export const organizationIdNames = ['organizationId', 'organization_id'] as const;

type Fields = Readonly<Record<string, unknown>>;

/** What is known about a delivery once its body has been decoded. */
export interface Readable {
  /** The JSON object of the body. It is never changed. */
  readonly fields: Fields;
  /** The raw bytes, whose digest identifies an event that has no trace id. */
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  /** When the delivery arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** Whether the body is too large to be copied whole in one turn of the event loop. */
  readonly isLarge?: boolean;
  /** @default 'delivered' */
  readonly source?: EventSource | undefined;
}

/** An event, and whether its body and its header disagree about the trace id (the body, being signed, wins). */
export interface ReadEvent {
  readonly event: CallEvent;
  readonly traceIdDiffers: boolean;
}

/**
 * Reads the event that a delivery reports. Never fails: what is missing is filled from the headers, the time of arrival
 * or the digest, unknown fields are kept, and `issues` lists where a known event is not what its name promises.
 *
 * Source: "Envelope", "Payload fields", "Call transfer event body".
 *
 * @example
 * const { event } = readEvent({ fields: { eventName: 'CallHandler.CallEnded', payload: { call_id: 7 } }, … });
 * event.callId // '7'
 */
export function readEvent({
  fields,
  bytes,
  headers,
  receivedAt,
  isLarge = false,
  source = 'delivered',
}: Readable): ReadEvent {
  const { traceId, traceIdSource, traceIdDiffers } = readTraceId(fields, headers, bytes);
  const eventName = readEventName(fields, headers);
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
  return { event, traceIdDiffers };
}

/** The documented sample of a transfer has no name, so a transfer is also recognized by its fields. */
function readEventName(fields: Fields, headers: Headers): string {
  const named = readId(fields['eventName']) ?? readId(headerOf(headers, 'x-webhook-event'));
  return named ?? (isTransfer(unwrapPayload(fields)) ? eventNames.callTransferred : unknownEventName);
}

function isTransfer(payload: Fields): boolean {
  const callId = idUnder(payload, ['call_id', 'callId', '_id']);
  return callId !== undefined && readId(payload['transfer_to']) !== undefined;
}

interface EventTime {
  /** As it was sent. */
  readonly timestamp: CallEvent['timestamp'];
  readonly instant: Instant;
  readonly source: CallEvent['occurredAtSource'];
}

/** When the event happened, from the body, else the header, else the arrival. An unreadable time is kept as sent. */
function readTime(fields: Fields, headers: Headers, receivedAt: number): EventTime {
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
