/** The keys by which a copy of an event is recognized. The prefix says where the key was found. */
import { isReconcilable, reconciledTraceId } from '../events/reconciled.ts';

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
