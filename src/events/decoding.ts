import { setImmediate } from 'node:timers/promises';
import { type JsonLimits, JsonReader, TooComplex, partLength } from './json-reader.ts';
import { Semaphore } from '../kit/limiters.ts';

/** Why bytes can't be read as an event. Such a delivery is quarantined: a retry would send the same bytes. */
export const unreadables = ['empty', 'not_utf8', 'not_json', 'not_an_object', 'too_complex'] as const;

export type Unreadable = (typeof unreadables)[number];

/** The JSON object that a body holds, or the reason why there is none. */
export type Decoded =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly reason: Unreadable };

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

/**
 * Decodes the JSON object in the bytes of a body. Invalid UTF-8 is not accepted, because a replaced character would
 * silently change a name; a byte order mark is. Integers that a JavaScript number can't hold become strings of the same
 * digits: if they were rounded, two different calls could get the same id.
 *
 * @example decodeBody(Buffer.from('{"call_id":1234567890123456789}')) // value.call_id is '1234567890123456789'
 */
export function decodeBody(bytes: Uint8Array, limits = unlimited): Decoded {
  const text = decodeText(bytes);
  if (text === undefined) return notUtf8;
  try {
    return decodedOf(valueOf(text, limits));
  } catch (error) {
    return undecodedOf(error, text);
  }
}

/**
 * The JSON in a text or in bytes, of whatever kind, or undefined if it is none. Integers are as `decodeBody` has them.
 *
 * @example exactJsonIn('[1234567890123456789]', unlimited) // ['1234567890123456789']
 */
export function exactJsonIn(json: string | Uint8Array, limits: JsonLimits): unknown {
  const text = typeof json === 'string' ? json : decodeText(json);
  try {
    return text === undefined ? undefined : valueOf(text, limits);
  } catch {
    return undefined;
  }
}

function valueOf(text: string, limits: JsonLimits): unknown {
  return isPlain(text, limits) ? JSON.parse(text) : readWhole(new JsonReader(text, limits));
}

/**
 * Decodes a large body, part by part. `turn` is awaited before each part, so that whatever else the process has to do is
 * done in between.
 */
async function decodeInParts(
  bytes: Uint8Array,
  limits: JsonLimits,
  turn: () => Promise<unknown>,
): Promise<Decoded> {
  await turn();
  const text = decodeText(bytes);
  if (text === undefined) return notUtf8;
  try {
    const reader = new JsonReader(text, limits);
    do await turn();
    while (!reader.readPart());
    // What is done with the value next, such as recording the body, copies as much once more.
    await turn();
    return decodedOf(reader.value);
  } catch (error) {
    return undecodedOf(error, text);
  }
}

/** For a process that only looks at bodies, such as a test's or that of a command: what dies with it is not the app. */
export const unlimited: JsonLimits = { values: Infinity, fields: Infinity, depth: Infinity };
const notUtf8: Decoded = { ok: false, reason: 'not_utf8' };

function decodedOf(value: unknown): Decoded {
  return isRecord(value) ? { ok: true, value } : { ok: false, reason: 'not_an_object' };
}

function undecodedOf(error: unknown, text: string): Decoded {
  if (error instanceof TooComplex) return { ok: false, reason: 'too_complex' };
  return { ok: false, reason: text.trim() === '' ? 'empty' : 'not_json' };
}

function readWhole(reader: JsonReader): unknown {
  while (!reader.readPart());
  return reader.value;
}

/** Whether a value is a JSON object: not null, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A number of 16 digits or more where a JSON value can start. A match inside a string costs only time. */
const mayHoldBigInteger = /(?:^|[[:,\s])-?\d{16}/;

/**
 * Whether `JSON.parse` alone will do, as for nearly every delivery: within the limits whatever the text holds, since
 * each value and each name takes two characters, and without an integer that would be rounded.
 */
function isPlain(text: string, { values, fields, depth }: JsonLimits): boolean {
  if (text.length > partLength || text.length > 2 * Math.min(values, fields)) return false;
  if (text.length >= 2 * depth && countUpTo(text, '[', depth) + countUpTo(text, '{', depth) > depth)
    return false;
  return !mayHoldBigInteger.test(text);
}

/** How often a character is in a text; counts no further than just above `max`. */
function countUpTo(text: string, character: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= max; at = text.indexOf(character, at + 1)) {
    count += 1;
  }
  return count;
}
