import type { Readable } from 'node:stream';
import { Refusal, refusal } from '../errors/refusals.ts';
import type { Clock } from '../kit/clock.ts';
import type { InflightBodies, InflightBody } from './inflight-bodies.ts';

export interface BodyLimits {
  /** Bytes of one body. */
  readonly body: number;
  /** How long a body may take to arrive, in milliseconds. */
  readonly bodyTimeout: number;
}

/** Bodies up to this length mostly arrive together with their head. */
const smallBody = 64 * 1024;

/** The size of a block for bytes that arrive in small pieces. */
const blockBytes = 16 * 1024;

/**
 * Collects the bytes of a body in blocks. With a list of chunks, a sender that writes byte by byte could take hundreds
 * of times the body's size: each chunk is an object, and keeps alive the buffer that it was read into. With one buffer
 * that doubles, a body could take twice the memory that is counted.
 */
class ArrivingBytes {
  readonly #maxBytes: number;
  readonly #inflight: InflightBody;
  readonly #bodies: InflightBodies;
  readonly #full: Buffer[] = [];
  #last = Buffer.alloc(0);
  /** How many bytes of the last block are used. */
  #taken = 0;
  #size = 0;

  constructor(maxBytes: number, inflight: InflightBody, bodies: InflightBodies) {
    this.#maxBytes = maxBytes;
    this.#inflight = inflight;
    this.#bodies = bodies;
  }

  /** Throws a refusal when the body, or all bodies together, become too large. */
  append(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.#size > this.#maxBytes) throw refusal('too_large', 'body_too_large', { limit: this.#maxBytes });
    this.#bodies.grow(this.#inflight, chunk.byteLength);
    const fits = Math.min(chunk.byteLength, this.#last.byteLength - this.#taken);
    this.#put(chunk.subarray(0, fits));
    if (fits === chunk.byteLength) return;
    this.#addRoom(chunk.byteLength - fits);
    this.#put(chunk.subarray(fits));
  }

  whole(): Uint8Array {
    const last = this.#last.subarray(0, this.#taken);
    return this.#full.length === 0 ? last : Buffer.concat([...this.#full, last], this.#size);
  }

  #put(bytes: Uint8Array): void {
    this.#last.set(bytes, this.#taken);
    this.#taken += bytes.byteLength;
  }

  /** Makes room for more bytes when the last block is full. */
  #addRoom(bytes: number): void {
    const { byteLength } = this.#last;
    if (byteLength >= blockBytes) {
      this.#full.push(this.#last);
      this.#last = Buffer.allocUnsafe(Math.max(bytes, blockBytes));
      this.#taken = 0;
      return;
    }
    const grown = Buffer.allocUnsafe(Math.max(byteLength + bytes, Math.min(blockBytes, 2 * byteLength)));
    grown.set(this.#last);
    this.#last = grown;
  }
}

/** Reads the raw bytes of the body, bounded in size and time. */
export async function assemble(
  inflight: InflightBody,
  bodies: InflightBodies,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array> {
  const { body, headers } = inflight.delivery;
  if (body.kind === 'parsed') throw refusal('body_already_parsed', 'body_already_parsed', body.found);
  if (body.kind === 'bytes') {
    if (body.bytes.byteLength > limits.body)
      throw refusal('too_large', 'body_too_large', { limit: limits.body });
    bodies.grow(inflight, body.bytes.byteLength);
    return body.bytes;
  }
  const { stream, found } = body;
  const declared = Number(headers['content-length']);
  // If other code, such as a request logger, is already reading the body, `collect` reads it so that both get the bytes.
  // Code that begins to listen later gets nothing.
  const isReadAlong = stream.readableFlowing === true || stream.listenerCount('readable') > 0;
  if (declared > 0 && declared <= smallBody && !isReadAlong) {
    stream.on('error', ignore);
    // A small body mostly arrives with its head. The parser calls us at the end of the head, and by the next microtask
    // it has parsed the rest of what the socket had.
    await Promise.resolve();
    // If other code has begun to read the body meanwhile, we get no bytes. Refusing an empty body as unauthenticated
    // would hide the cause.
    if (stream.readableDidRead || stream.readableEncoding !== null)
      throw refusal('body_already_parsed', 'body_already_parsed', found);
    // A body that has arrived completely needs no listeners and no timer.
    if (stream.readableLength === declared && !stream.destroyed) {
      const bytes = stream.read() as Uint8Array;
      bodies.grow(inflight, bytes.byteLength);
      // Read to the end of the stream, or the connection would take no further request.
      stream.resume();
      return bytes;
    }
  }
  return collect(stream, inflight, bodies, limits, clock);
}

const ignore = () => {};

/**
 * Reads a body as it arrives. It uses listeners because leaving a `for await` loop early destroys the request, and with
 * it the socket that the answer needs.
 */
function collect(
  stream: Readable,
  inflight: InflightBody,
  bodies: InflightBodies,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = new ArrivingBytes(limits.body, inflight, bodies);
    let leave = ignore;

    const stop = () => {
      cancelTimer();
      leave();
      stream.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      stream.off('readable', readOn);
      // After a refusal the rest is read and dropped, or the sender would never see the answer.
      stream.on('error', ignore);
      stream.resume();
    };
    const refuse = (problem: unknown) => {
      stop();
      reject(problem);
    };
    const onData = (chunk: Uint8Array | string) => {
      try {
        // Other code has set an encoding: the signed bytes can't be recovered from text.
        if (typeof chunk === 'string') throw refusal('body_already_parsed', 'body_already_parsed');
        body.append(chunk);
      } catch (problem) {
        refuse(problem);
      }
    };
    const onEnd = () => {
      // Over HTTP/2, a body ends as if it were whole when its sender resets the stream without an error code.
      if ((stream as { readonly aborted?: boolean }).aborted === true) return onBroken();
      stop();
      resolve(body.whole());
    };
    const readOn = () => {
      while (stream.read() !== null);
    };
    const onBroken = () => refuse(new Refusal('timeout', 'body_broken_off'));
    const cancelTimer = clock.after(limits.bodyTimeout, () =>
      refuse(new Refusal('timeout', 'body_too_slow')),
    );

    if (stream.destroyed) return onBroken();
    leave = bodies.waitFor(inflight, refuse);
    stream.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
    // While other code listens for `readable`, the stream doesn't flow. Reading it here as well gives both the bytes.
    if (stream.listenerCount('readable') > 0) stream.on('readable', readOn);
    // A middleware may have paused the stream during a lookup and not resumed it.
    stream.resume();
  });
}
