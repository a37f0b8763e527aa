import { createHmac, createSecretKey, hash as hashOnce } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Scheme } from '../events/model.ts';

type Hash = Scheme['hash'];

const blockBytes = { sha256: 64, sha512: 128 } as const;

/**
 * Bytes of a body up to which it is cheaper to copy it and hash twice than to create an HMAC object, which costs more
 * than hashing so little.
 */
const maxCopied = 16 * 1024;

/** A key to sign with. Its bytes are in private fields, so that no log of the object shows them. */
export class HmacKey {
  readonly #key: KeyObject;
  readonly #pads: Readonly<Record<Hash, Pads>>;

  constructor(bytes: Buffer) {
    this.#key = createSecretKey(bytes);
    this.#pads = { sha256: padsOf('sha256', bytes), sha512: padsOf('sha512', bytes) };
  }

  /** The HMAC of a body between two texts. The body is hashed as bytes: decoding and encoding it could change it. */
  digest(hash: Hash, before: string, body: Uint8Array, after: string): Buffer {
    return body.byteLength > maxCopied
      ? createHmac(hash, this.#key).update(before).update(body).update(after).digest()
      : digestAtOnce(hash, this.#pads[hash], before, body, after);
  }
}

/** The key XORed with the inner and outer pad of HMAC (RFC 2104), computed once for all deliveries. */
interface Pads {
  readonly inner: Buffer;
  /** Followed by room for the inner hash. */
  readonly outer: Buffer;
}

function padsOf(hash: Hash, bytes: Buffer): Pads {
  const size = blockBytes[hash];
  const key = bytes.byteLength > size ? hashOnce(hash, bytes, 'buffer') : bytes;
  const inner = Buffer.alloc(size, 0x36);
  const outer = Buffer.alloc(size + digestBytes[hash], 0x5c);
  for (const [index, byte] of key.entries()) {
    inner[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  }
  return { inner, outer };
}

/** The size of a digest, in bytes. */
export const digestBytes = { sha256: 32, sha512: 64 } as const;

function digestAtOnce(
  hash: Hash,
  { inner, outer }: Pads,
  before: string,
  body: Uint8Array,
  after: string,
): Buffer {
  const head = inner.byteLength + Buffer.byteLength(before);
  const content = Buffer.allocUnsafe(head + body.byteLength + Buffer.byteLength(after));
  content.set(inner);
  content.write(before, inner.byteLength);
  content.set(body, head);
  content.write(after, head + body.byteLength);
  outer.write(hashOnce(hash, content, 'binary'), inner.byteLength, 'binary');
  return Buffer.from(hashOnce(hash, outer, 'binary'), 'binary');
}
