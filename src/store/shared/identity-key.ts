/**
 * Short keys of one size for identities of any size: inserts at random places of an index are what an event costs most,
 * and cost less in a small index.
 */
import { hash } from 'node:crypto';

/** So many bytes that nobody finds two identities with the same key: the key alone decides what counts as a duplicate. */
export const identityBytes = 16;

/** The key under which an identity is stored. */
export function identityKey(identity: string): Buffer {
  return writeIdentityKey(identity, newIdentityKey());
}

/**
 * An empty buffer, for the keys of many events one after the other. Small buffers share blocks of 64 KB, and a block that is
 * filled by a few bytes for each event lives long enough to become old. Only a full garbage collection frees old ones, and
 * nothing on a writer thread brings that about.
 */
export function newIdentityKey(): Buffer {
  return Buffer.allocUnsafeSlow(identityBytes);
}

/** Writes the key of an identity into a buffer, and returns that. */
export function writeIdentityKey(identity: string, key: Buffer): Buffer {
  // The digest is taken as text of one letter a byte, because a buffer that the hash makes costs more than the hash.
  key.write(hash('sha256', identity, 'binary'), 'binary');
  return key;
}
