/** The keys by which a copy of an event is recognized. The prefix says where the key was found. */
import { hash } from 'node:crypto';
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
