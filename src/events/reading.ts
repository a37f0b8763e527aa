import type { CallEvent, Headers } from '../model.ts';
import { parseTimestamp } from '../kit/time.ts';
import { firstId, headerOf, readTraceId } from './ids.ts';
import { eventNames, unknownEventName } from './names.ts';
import { readPayload, unwrapPayload } from './payload.ts';

/** The names under which the platform may send the organization's id, in the body or in the payload. */
export const organizationIdNames = ['organizationId', 'organization_id'] as const;

type Fields = Readonly<Record<string, unknown>>;

/** All that is known of a delivery when its body has been decoded. */
export interface Readable {
  /** The JSON object of the body. It is never changed. */
  readonly body: Fields;
  readonly headers: Headers;
  /** The SHA-256 digest of the raw bytes, in hex. */
  readonly digest: string;
  /** When the delivery arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
}

/** An event, and whether its body and its header disagree about the trace id (the body, being signed, wins). */
export interface ReadEvent {
  readonly event: CallEvent;
  readonly traceIdDiffers: boolean;
}

/**
 * The event that a delivery tells. It never fails: what is missing is filled from the headers, the arrival or the
 * digest, what is unknown is kept, and what a known event misses is in `issues`.
 *
 * Source: "Envelope", "Payload fields", "Call transfer event body".
 *
 * @example
 * const { event } = readEvent({ body: { eventName: 'CallHandler.CallEnded', payload: { call_id: 7 } }, … });
 * event.callId // '7'
 */
export function readEvent({ body, headers, digest, receivedAt }: Readable): ReadEvent {
  const { traceIdDiffers, ...identity } = readTraceId(body, headers, digest);
  const eventName = readEventName(body, headers);
  const { payload, issues } = readPayload(eventName, body);
  const event: CallEvent = {
    ...identity,
    eventName,
    callId: firstId(payload['call_id']),
    organizationId: readOrganizationId(body, payload),
    payload,
    body,
    ...readTime(body, headers, receivedAt),
    issues,
  };
  return { event, traceIdDiffers };
}

/** The documented sample of a transfer has no name at all, so it is known by what it holds. */
function readEventName(body: Fields, headers: Headers): string {
  const named = firstId(body['eventName'], headerOf(headers, 'x-webhook-event'));
  return named ?? (isTransfer(unwrapPayload(body)) ? eventNames.callTransferred : unknownEventName);
}

function isTransfer(payload: Fields): boolean {
  const callId = firstId(payload['call_id'], payload['callId'], payload['_id']);
  return callId !== undefined && firstId(payload['transfer_to']) !== undefined;
}

function readOrganizationId(body: Fields, payload: Fields): string | undefined {
  return firstId(
    ...organizationIdNames.map((name) => body[name]),
    ...organizationIdNames.map((name) => payload[name]),
  );
}

/** When it happened, by the body, else the header, else the arrival. A time that can't be read is kept as sent. */
function readTime(body: Fields, headers: Headers, receivedAt: number) {
  const inBody = body['timestamp'];
  const inHeader = headerOf(headers, 'x-webhook-timestamp');
  const timestamp = typeof inBody === 'string' || typeof inBody === 'number' ? inBody : inHeader;
  const bodyTime = parseTimestamp(inBody);
  if (bodyTime !== undefined) return { timestamp, ...instantOf(bodyTime, 'body') };
  const headerTime = parseTimestamp(inHeader);
  if (headerTime !== undefined) return { timestamp, ...instantOf(headerTime, 'header') };
  return { timestamp, ...instantOf(BigInt(Math.trunc(receivedAt)) * 1_000_000n, 'arrival') };
}

function instantOf(occurredAtNs: bigint, occurredAtSource: CallEvent['occurredAtSource']) {
  return { occurredAt: new Date(Number(occurredAtNs / 1_000_000n)), occurredAtNs, occurredAtSource };
}
