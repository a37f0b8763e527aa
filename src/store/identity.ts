/** The keys under which a copy of an event counts as the same event. Each says where the key was found. */
import { isReconcilable, reconciledTraceId } from '../events/reconciled.ts';

export function bodyIdentity(traceId: string): string {
  return `body:${traceId}`;
}

/** A trace id from a header that the signature covers. */
export function signedHeaderIdentity(traceId: string): string {
  return `signed:${traceId}`;
}

/** A trace id from a header that anybody can change: by this key an event is found, and never taken for a duplicate. */
export function headerIdentity(traceId: string): string {
  return `header:${traceId}`;
}

/** `digest` is the body's, in hexadecimal. This key is also the trace id of an event that has no other. */
export function digestIdentity(digest: string): string {
  return `sha256:${digest}`;
}

/**
 * The key that a reconciled event of this name and call has, if there can be one: its trace id, whose beginning no other key has.
 * A delivery may have the same trace id, and never this key. Where it is taken, deliveries of that name and call are duplicates
 * of the reconciled event.
 */
export function reconciledIdentity(eventName: string, callId: string | null | undefined): string | undefined {
  if (typeof callId !== 'string' || !isReconcilable(eventName)) return undefined;
  return reconciledTraceId(eventName, callId);
}

/** A key that no event has. Where it is taken, the call was erased: its events must not be rebuilt. */
export function erasedIdentity(callId: string): string {
  return `erased:${callId}`;
}
