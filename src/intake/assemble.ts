import type { Readable } from 'node:stream';
import { Refusal, refusal } from '../refusals.ts';
import type { Clock } from '../kit/clock.ts';
import type { Delivery } from '../model.ts';

/** The limits of bodies. */
export interface BodyLimits {
  /** Bytes of one body. */
  readonly body: number;
  /** Bytes of all bodies in flight. */
  readonly inflight: number;
  /** Milliseconds until a body must have arrived completely. */
  readonly bodyTimeout: number;
}

/** The bytes that one delivery holds until it is answered. */
export interface Hold {
  /** Adds bytes; throws a refusal when all deliveries together hold too many. */
  grow(bytes: number): void;
  release(): void;
}

/** Counts the bytes in flight, so that many slow or large bodies at once can't exhaust the process's memory. */
export function createBudget(limits: BodyLimits): () => Hold {
  let total = 0;
  return () => {
    let held = 0;
    return {
      grow(bytes) {
        if (total + bytes > limits.inflight) throw new Refusal('unavailable', 'inflight_full');
        total += bytes;
        held += bytes;
      },
      release() {
        total -= held;
        held = 0;
      },
    };
  };
}

/**
 * The first bytes of each body, which don't count against `inflight`: strangers who stall with large bodies may use
 * `inflight` up, and small genuine bodies must still get through.
 */
const freeBytes = 64 * 1024;

/** How many of a body's bytes count against `inflight`. */
function beyondFree(bytes: number): number {
  return Math.max(0, bytes - freeBytes);
}

/**
 * The bytes of one body while it arrives, in one buffer that doubles when it is full. With a list of chunks, a sender
 * who writes byte by byte could take hundreds of times the body's size: each chunk is an object, and keeps the buffer
 * alive that it was read into.
 */
class GrowingBytes {
  readonly #most: number;
  readonly #hold: Hold;
  #buffer = Buffer.alloc(0);
  #size = 0;

  constructor(most: number, hold: Hold) {
    this.#most = most;
    this.#hold = hold;
  }

  /** Throws a refusal when the body, or all bodies together, become too large. */
  append(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#most) throw refusal('too_large', 'body_too_large', { limit: this.#most });
    if (size > this.#buffer.byteLength) this.#grow(size);
    this.#buffer.set(chunk, this.#size);
    this.#size = size;
  }

  whole(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  #grow(needed: number): void {
    const capacity = Math.min(this.#most, Math.max(needed, this.#buffer.byteLength * 2));
    this.#hold.grow(beyondFree(capacity) - beyondFree(this.#buffer.byteLength));
    const grown = Buffer.allocUnsafe(capacity);
    this.#buffer.copy(grown, 0, 0, this.#size);
    this.#buffer = grown;
  }
}

/** The raw bytes of the body, as they came, bounded in size and time. */
export async function assemble(
  { body, headers }: Delivery,
  limits: BodyLimits,
  hold: Hold,
  clock: Clock,
): Promise<Uint8Array> {
  if (body.kind === 'parsed') throw refusal('body_already_parsed', 'body_already_parsed');
  if (body.kind === 'bytes') {
    if (body.bytes.byteLength > limits.body)
      throw refusal('too_large', 'body_too_large', { limit: limits.body });
    hold.grow(beyondFree(body.bytes.byteLength));
    return body.bytes;
  }
  const { stream } = body;
  const declared = Number(headers['content-length']);
  if (declared > 0 && declared <= freeBytes && !isReadAlong(stream)) {
    stream.on('error', ignore);
    // A small body mostly arrives with its head, and the parser calls us at the end of the head. By the next microtask
    // it has gone through the rest of what the socket had.
    await Promise.resolve();
    // If other code has begun to read the body meanwhile, we get no bytes; an empty body would be refused as not
    // authentic, which would hide the cause.
    if (stream.readableDidRead || stream.readableEncoding !== null)
      throw refusal('body_already_parsed', 'body_already_parsed');
    if (stream.readableLength === declared && !stream.destroyed) return readArrived(stream);
  }
  return collect(stream, limits, hold, clock);
}

/**
 * Whether other code, such as a log of requests, already reads the body too. `collect` then reads it so that both get
 * the bytes. Code that begins to listen later gets nothing.
 */
function isReadAlong(stream: Readable): boolean {
  return stream.readableFlowing === true || stream.listenerCount('readable') > 0;
}

/** Reads a body of which all bytes have arrived: this needs no listeners and no timer. */
function readArrived(stream: Readable): Uint8Array {
  const bytes = stream.read() as Uint8Array;
  // The end of the stream has to be read too, or the connection would take no further request.
  stream.resume();
  return bytes;
}

const ignore = () => {};

/**
 * Reads a body as it arrives. It listens instead of iterating: leaving an iteration early destroys the request, and
 * with it the socket that the answer still has to go through.
 */
function collect(stream: Readable, limits: BodyLimits, hold: Hold, clock: Clock): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBytes(limits.body, hold);

    const stop = () => {
      cancelTimer();
      stream.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      stream.off('readable', readOn);
      // After a refusal the rest is still read, and dropped, or the sender would never see the answer.
      stream.on('error', ignore);
      stream.resume();
    };
    const refuse = (problem: unknown) => {
      stop();
      reject(problem);
    };
    const onData = (chunk: Uint8Array | string) => {
      try {
        // Other code has set an encoding: the bytes that were signed can't be recovered from text.
        if (typeof chunk === 'string') throw refusal('body_already_parsed', 'body_already_parsed');
        body.append(chunk);
      } catch (problem) {
        refuse(problem);
      }
    };
    const onEnd = () => {
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
    stream.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
    // While other code listens for `readable`, the stream doesn't flow. So it is read here too, and both get the bytes.
    if (stream.listenerCount('readable') > 0) stream.on('readable', readOn);
    // A middleware may have paused the stream while it looked something up, and need not resume it.
    stream.resume();
  });
}
