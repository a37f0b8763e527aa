import { createHmac, randomUUID } from 'node:crypto';
import { secret } from '../servers/common.ts';
import { type BodyName, bodyOf, eventNames } from './bodies.ts';

/** The size of a chunk, below the limit of Node's buffers. No delivery is split between two chunks. */
const chunkBytes = 64 * 1024 * 1024;

const traceMark = '00000000-0000-4000-8000-00000000000a';
const callMark = '00000000-0000-4000-8000-00000000000b';
const signatureMark = '0'.repeat(64);

/**
 * Deliveries as they go over the wire, prepared and signed. All have the same length and are in a few large buffers:
 * with hundreds of thousands of small ones, the load's garbage collection would become a part of what is measured.
 *
 * The ids are random, like the platform's: with ascending ids, the inbox would not pay the cost of its indexes. The
 * signatures are made here and not with `sign`, which would prepare everything again for each delivery. Servers that
 * verify would refuse a wrong signature, and the run would not be valid.
 */
export class Deliveries {
  readonly count: number;
  readonly #length: number;
  readonly #perChunk: number;
  readonly #chunks: Buffer[];
  readonly #traceAt: number;

  constructor(port: number, body: BodyName, count: number) {
    const text = bodyOf(body, traceMark, callMark);
    const template = Buffer.from(headOf(port, body, text) + text);
    const bodyAt = template.length - Buffer.byteLength(text);
    const idHeaderAt = template.indexOf(traceMark);
    const signatureAt = template.indexOf(signatureMark);
    const callAt = template.indexOf(callMark, bodyAt);
    this.#traceAt = template.indexOf(traceMark, bodyAt);
    this.count = count;
    this.#length = template.length;
    this.#perChunk = Math.floor(chunkBytes / this.#length);
    const size = Math.min(count, this.#perChunk) * this.#length;
    this.#chunks = Array.from({ length: Math.ceil(count / this.#perChunk) }, () =>
      Buffer.allocUnsafeSlow(size),
    );
    for (let index = 0; index < count; index += 1) {
      const delivery = this.at(index);
      delivery.set(template);
      const traceId = randomUUID();
      delivery.write(traceId, idHeaderAt, 'latin1');
      delivery.write(traceId, this.#traceAt, 'latin1');
      delivery.write(randomUUID(), callAt, 'latin1');
      const digest = createHmac('sha256', secret).update(delivery.subarray(bodyAt)).digest('hex');
      delivery.write(digest, signatureAt, 'latin1');
    }
  }

  /** The bytes of a delivery. */
  at(index: number): Buffer {
    const chunk = this.#chunks[Math.floor(index / this.#perChunk)];
    if (!chunk) throw new Error(`There is no delivery ${index}`);
    const start = (index % this.#perChunk) * this.#length;
    return chunk.subarray(start, start + this.#length);
  }

  traceIdOf(index: number): string {
    return this.at(index).toString('latin1', this.#traceAt, this.#traceAt + traceMark.length);
  }
}

/** The request line, the headers that the platform is documented to send, and the signature. */
function headOf(port: number, body: BodyName, text: string): string {
  const headers = {
    host: `bench.example:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'x-webhook-event': eventNames[body],
    'x-webhook-traceid': traceMark,
    'x-webhook-timestamp': new Date().toISOString(),
    'x-webhook-signature': `sha256=${signatureMark}`,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /hook HTTP/1.1\r\n${lines.join('')}\r\n`;
}
