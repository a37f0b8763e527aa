/** What an event leaves in the inbox, whether it is recorded as it arrives or released from quarantine later. */
import { type CallFacts, factsOf } from '../calls/timeline.ts';
import type { CallEvent, EventSource, Headers } from '../events/model.ts';
import { bodyIdentity, digestIdentity, headerIdentity, signedHeaderIdentity } from './identity.ts';

/** The inbox's number of an event: rises in the order of arrival. */
export type Sequence = number;

/** What one authentic, readable delivery leaves behind, or an event that was reconciled. */
export interface EventRecord {
  /** The event's own trace id; `identity` is the key under which a copy counts as the same event. */
  readonly traceId: string;
  readonly identity: string;
  /**
   * A further key by which the event is found, if its trace id is not signed. It makes no other event a duplicate:
   * whoever chose that id could otherwise suppress the event that is to come with it.
   */
  readonly lookup?: string | undefined;
  /**
   * `reconciled`: the event is a duplicate if any event of its name and call is here, or if its call was erased. A later
   * delivery of that name and call is then a duplicate of it: see `reconciledIdentity`.
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
 * The record of an event, from what was read of it and what is kept with it. `isIdSigned`: the signature covers the
 * trace id in the header.
 */
export function recordOf(
  event: CallEvent,
  digest: () => string,
  kept: Pick<EventRecord, 'headers' | 'body' | 'receivedAt'>,
  isIdSigned = false,
): EventRecord {
  return {
    traceId: event.traceId,
    ...keysOf(event, digest, isIdSigned),
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
 * The key by which a copy of this event is recognized: only what is signed decides. A trace id from an unsigned header
 * counts for nothing here, but the signed bytes do: whoever saw a delivery could otherwise send it again under another
 * id, or send it under the id of an event that is still to come.
 */
function keysOf(
  { traceId, traceIdSource, source }: CallEvent,
  digest: () => string,
  isIdSigned: boolean,
): Pick<EventRecord, 'identity' | 'lookup'> {
  // See `reconciledIdentity`. Its trace id is in its body as well, where a delivery can have the same one.
  if (source === 'reconciled') return { identity: traceId };
  if (traceIdSource === 'body') return { identity: bodyIdentity(traceId) };
  if (traceIdSource === 'digest') return { identity: digestIdentity(digest()) };
  if (isIdSigned) return { identity: signedHeaderIdentity(traceId) };
  return { identity: digestIdentity(digest()), lookup: headerIdentity(traceId) };
}
