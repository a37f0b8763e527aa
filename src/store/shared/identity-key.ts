/**
 * Short keys of one size for identities of any size. Inserts at random places of an index are the largest cost of an
 * event, and are cheaper in a small index.
 */
import { hash } from 'node:crypto';

/** Large enough that nobody can find two identities with the same key, which alone decides what is a duplicate. */
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
