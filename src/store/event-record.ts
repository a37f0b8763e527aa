/** What an event leaves in the inbox, whether it is recorded as it arrives or released from quarantine later. */
import { type CallFacts, factsOf } from '../calls/timeline.ts';
import type { CallEvent, Headers } from '../model.ts';
import { bodyIdentity, digestIdentity, headerIdentity } from './identity.ts';

/** What one authentic, readable delivery leaves behind. */
export interface EventRecord {
  /** The event's own trace id; `identities` are the keys under which a copy counts as the same event. */
  readonly traceId: string;
  readonly identities: readonly string[];
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

/** The record of an event, from what was read of it and what is kept with it. */
export function recordOf(
  event: CallEvent,
  digest: () => string,
  kept: Pick<EventRecord, 'headers' | 'body' | 'receivedAt'>,
): EventRecord {
  return {
    traceId: event.traceId,
    identities: identitiesOf(event, digest),
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
 * The keys by which a copy of this event would be recognized. A trace id from the header is not signed, so the signed
 * bytes count as well: otherwise anyone who saw a delivery could send it again under another id.
 */
function identitiesOf({ traceId, traceIdSource }: CallEvent, digest: () => string): string[] {
  if (traceIdSource === 'body') return [bodyIdentity(traceId)];
  if (traceIdSource === 'header') return [digestIdentity(digest()), headerIdentity(traceId)];
  return [digestIdentity(digest())];
}
