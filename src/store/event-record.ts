/** What an event leaves in the inbox, whether it is recorded as it arrives or released from quarantine later. */
import { hash } from 'node:crypto';
import { type CallFacts, factsOf } from '../calls/timeline.ts';
import type { CallEvent, EventSource, Headers } from '../events/model.ts';
import { bodyIdentity, digestIdentity, headerIdentity, signedHeaderIdentity } from './identity.ts';

/** The number that the inbox gives an event. Numbers rise in the order of arrival. */
export type Sequence = number;

/** An event to record: from an authentic, readable delivery, or reconciled. */
export interface EventRecord {
  /** The event's own trace id; `identity` is the key under which a copy counts as the same event. */
  readonly traceId: string;
  readonly identity: string;
  /**
   * A further key by which the event is found, if its trace id is not signed. It makes no other event a duplicate:
   * otherwise a sender could choose the id of an event still to come, and so suppress that event.
   */
  readonly lookup?: string | undefined;
  /**
   * A `reconciled` event is a duplicate if the inbox has an event of its name and call, or if its call was erased. Once
   * it is recorded, deliveries of that name and call are duplicates of it: see `reconciledIdentity`.
   */
  readonly source: EventSource;
  readonly eventName: string;
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  /** Milliseconds since 1970. */
  readonly occurredAt: number;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The headers that matter; never credentials. */
  readonly headers: Headers;
  /** What the event says about its call. */
  readonly facts: CallFacts;
  /** The raw bytes, as they were signed. */
  readonly body: Uint8Array;
}

/**
 * Makes the record of an event. `isIdSigned`: whether the signature covers the trace id in the header.
 */
export function recordOf(
  event: CallEvent,
  kept: Pick<EventRecord, 'headers' | 'body' | 'receivedAt'>,
  isIdSigned = false,
): EventRecord {
  return {
    traceId: event.traceId,
    ...keysOf(event, kept.body, isIdSigned),
    source: event.source,
    eventName: event.eventName,
    callId: event.callId,
    organizationId: event.organizationId,
    occurredAt: event.occurredAt.getTime(),
    facts: factsOf(event),
    headers: kept.headers,
    body: kept.body,
    receivedAt: kept.receivedAt,
  };
}

/**
 * The keys by which the event is found, and a copy of it recognized. Only signed data makes a duplicate. If an unsigned
 * header did, anyone who saw a delivery could send it again under another id, or under the id of an event still to
 * come.
 */
function keysOf(
  { traceId, traceIdSource, source }: CallEvent,
  body: Uint8Array,
  isIdSigned: boolean,
): Pick<EventRecord, 'identity' | 'lookup'> {
  // Not `bodyIdentity`, although the trace id is in the body as well: a delivery's body can have the same one.
  if (source === 'reconciled') return { identity: traceId };
  if (traceIdSource === 'body') return { identity: bodyIdentity(traceId) };
  // It is `digestIdentity` of the body already.
  if (traceIdSource === 'digest') return { identity: traceId };
  if (isIdSigned) return { identity: signedHeaderIdentity(traceId) };
  return { identity: digestIdentity(hash('sha256', body, 'hex')), lookup: headerIdentity(traceId) };
}
