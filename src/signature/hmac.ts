import { createHmac, createSecretKey, hash as hashOnce } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Layout } from '../model.ts';

type Hash = Layout['hash'];

const blockBytes = { sha256: 64, sha512: 128 } as const;

/** Up to here two hashes of a copy are cheaper than one HMAC, whose object costs more than its work. */
const mostCopied = 16 * 1024;

/** A key to sign with. Its bytes are where no log shows them. */
export class HmacKey {
  readonly #key: KeyObject;
  readonly #pads: Readonly<Record<Hash, Pads>>;

  constructor(bytes: Buffer) {
    this.#key = createSecretKey(bytes);
    this.#pads = { sha256: padsOf('sha256', bytes), sha512: padsOf('sha512', bytes) };
  }

  /** The digest of a body between two texts. It goes in as bytes: decoded to text and back, it might be another. */
  digest(hash: Hash, before: string, body: Uint8Array, after: string): Buffer {
    return body.byteLength > mostCopied
      ? createHmac(hash, this.#key).update(before).update(body).update(after).digest()
      : digestAtOnce(hash, this.#pads[hash], before, body, after);
  }
}

/** The key as HMAC mixes it into its two hashes (RFC 2104), once for all deliveries. */
interface Pads {
  readonly inner: Buffer;
  /** With room for the inner hash. */
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

/** The size of a digest. */
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
