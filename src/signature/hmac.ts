import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Scheme } from '../events/model.ts';

type Hash = Scheme['hash'];

/** The size of a digest, in bytes. */
export const digestBytes = { sha256: 32, sha512: 64 } as const;

/** A key to sign with. Its bytes are in a private field, so that no log of the object shows them. */
export class HmacKey {
  readonly #key: KeyObject;

  constructor(bytes: Buffer) {
    this.#key = createSecretKey(bytes);
  }

  /** The HMAC of `before`, the body and `after`. The body is hashed as bytes: decoding and encoding could change it. */
  digest(hash: Hash, before: string, body: Uint8Array, after: string): Buffer {
    return createHmac(hash, this.#key).update(before).update(body).update(after).digest();
  }
}
