/**
 * What an event leaves in the inbox, whether it is recorded as it arrives or released from quarantine later; and the keys
 * by which a copy of it is recognized, whose prefix says where the key was found.
 */
import { hash } from 'node:crypto';
import { type CallFacts, factsOf } from '../calls/timeline.ts';
import type { CallEvent, EventSource, Headers } from '../events/model.ts';
import { isReconcilable, reconciledTraceId } from '../events/reconciled.ts';

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

export function bodyIdentity(traceId: string): string {
  return `body:${traceId}`;
}

/** A trace id from a header that the signature covers. */
export function signedHeaderIdentity(traceId: string): string {
  return `signed:${traceId}`;
}

/** A trace id from an unsigned header, which anybody can change: it finds an event, but never makes one a duplicate. */
export function headerIdentity(traceId: string): string {
  return `header:${traceId}`;
}

/** `digest` is the body's, in hexadecimal. This key is also the trace id of an event that has none. */
export function digestIdentity(digest: string): string {
  return `sha256:${digest}`;
}

/**
 * The key of a reconciled event of this name and call, if events of this name can be reconciled: its trace id, whose
 * prefix no other key has. A delivery may have the same trace id, but never this key. Once the key is taken, deliveries
 * of that name and call are duplicates of the reconciled event.
 */
export function reconciledIdentity(eventName: string, callId: string | null | undefined): string | undefined {
  if (typeof callId !== 'string' || !isReconcilable(eventName)) return undefined;
  return reconciledTraceId(eventName, callId);
}

/** A key that no event has. If it is taken, the call was erased, and its events must not be reconciled. */
export function erasedIdentity(callId: string): string {
  return `erased:${callId}`;
}

/**
 * The size of the key under which an identity is stored, whatever its own. Inserts at random places of an index are the
 * largest cost of an event, and are cheaper in a small index. Large enough that nobody can find two identities with the
 * same key, which alone decides what is a duplicate.
 */
export const identityBytes = 16;

/** The key under which an identity is stored. */
export function identityKey(identity: string): Buffer {
  return writeIdentityKey(identity, newIdentityKey());
}

/**
 * A buffer to reuse for the keys of many events. `Buffer.from` would take each key from a shared block of 64 KB, which
 * a few bytes for each event fill so slowly that it becomes old; only a full garbage collection frees it, and a writer
 * thread has none.
 */
export function newIdentityKey(): Buffer {
  return Buffer.allocUnsafeSlow(identityBytes);
}

/** Writes the key of an identity into a buffer, and returns the buffer. */
export function writeIdentityKey(identity: string, key: Buffer): Buffer {
  // The digest is taken as a latin1 string, because a buffer made by the hash costs more than the hash.
  key.write(hash('sha256', identity, 'binary'), 'binary');
  return key;
}

/**
 * The key of a call in the index of a SQLite file: a number that SQLite and JavaScript both hold exactly. Two calls may
 * share one, because it only has to narrow the search.
 */
export function callKey(callId: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < callId.length; index += 1) {
    const code = callId.charCodeAt(index);
    high = Math.imul(high ^ code, 0x9e3779b1);
    low = Math.imul(low ^ code, 0x5f356495);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}
