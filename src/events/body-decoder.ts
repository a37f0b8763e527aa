import { setImmediate } from 'node:timers/promises';
import { type JsonLimits, partLength } from '../kit/json-reader.ts';
import { Semaphore } from '../kit/limiters.ts';
import { type Decoded, decodeBody, decodeInParts } from './decoding.ts';

/**
 * Decodes bodies, within the limits of what one may hold: small ones at once, large ones in parts, each in a turn of the
 * event loop of its own. One large body is decoded at a time: what comes of it may take twenty times its memory.
 */
export class BodyDecoder {
  readonly #limits: JsonLimits;
  readonly #lock = new Semaphore(1);

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** The JSON object in a body, or why there is none; for a large body a promise of that. Never throws or rejects. */
  decode(bytes: Uint8Array): Decoded | Promise<Decoded> {
    return bytes.byteLength <= partLength ? decodeBody(bytes, this.#limits) : this.#decodeLarge(bytes);
  }

  async #decodeLarge(bytes: Uint8Array): Promise<Decoded> {
    const release = await this.#lock.acquire();
    try {
      return await decodeInParts(bytes, this.#limits, setImmediate);
    } finally {
      release();
    }
  }
}
