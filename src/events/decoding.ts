import { setImmediate as turn } from 'node:timers/promises';
import { type JsonLimits, JsonReader, TooComplex, partLength } from './json-reader.ts';
import { Semaphore } from '../kit/limiters.ts';
import { isRecord } from '../kit/values.ts';

/** Why bytes can't be read as an event. The delivery is then quarantined: a retry would send the same bytes. */
export const unreadables = ['empty', 'not_utf8', 'not_json', 'not_an_object', 'too_complex'] as const;

export type Unreadable = (typeof unreadables)[number];

/** The JSON object that a body holds, or the reason why there is none. */
type Decoded =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly reason: Unreadable };

/**
 * Decodes bodies within limits: small ones at once, large ones in parts, each in its own turn of the event loop. One
 * large body is decoded at a time, because its value may take twenty times the memory of its bytes.
 */
export class BodyDecoder {
  readonly #limits: JsonLimits;
  readonly #lock = new Semaphore(1);

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** The JSON object in a body, or why there is none; a promise if the body is large. Never throws or rejects. */
  decode(bytes: Uint8Array): Decoded | Promise<Decoded> {
    return bytes.byteLength <= partLength ? decodeBody(bytes, this.#limits) : this.#decodeLarge(bytes);
  }

  #decodeLarge(bytes: Uint8Array): Promise<Decoded> {
    return this.#lock.run(() => decodeInParts(bytes, this.#limits));
  }
}

/**
 * Decodes the JSON object in a body. Invalid UTF-8 is refused, because a replaced character would silently change a
 * name; a byte order mark is accepted. Integers that a JavaScript number can't hold become strings of the same digits:
 * if they were rounded, two different calls could get the same id.
 *
 * @example decodeBody(Buffer.from('{"call_id":1234567890123456789}')) // value.call_id is '1234567890123456789'
 */
export function decodeBody(bytes: Uint8Array, limits = unlimited): Decoded {
  let text: string | undefined;
  try {
    text = utf8.decode(bytes);
    const value = valueOf(text, limits);
    return decodedOf(value);
  } catch (error) {
    return undecodedOf(error, text);
  }
}

/**
 * Parses JSON of any kind in a text or in bytes, with integers as in `decodeBody`. Undefined if it is not JSON.
 *
 * @example exactJsonIn('[1234567890123456789]', unlimited) // ['1234567890123456789']
 */
export function exactJsonIn(json: string | Uint8Array, limits: JsonLimits): unknown {
  try {
    return valueOf(typeof json === 'string' ? json : utf8.decode(json), limits);
  } catch {
    return undefined;
  }
}

/** Decodes a large body part by part, each in its own turn, so that the process can do other work in between. */
async function decodeInParts(bytes: Uint8Array, limits: JsonLimits): Promise<Decoded> {
  await turn();
  let text: string | undefined;
  try {
    text = utf8.decode(bytes);
    const reader = new JsonReader(text, limits);
    do await turn();
    while (!reader.readPart());
    // Whatever uses the value next, such as recording the body, copies as much again.
    await turn();
    const { value } = reader;
    return decodedOf(value);
  } catch (error) {
    return undecodedOf(error, text);
  }
}

/** For tests and commands: a body that exhausts their memory doesn't end the app. */
export const unlimited: JsonLimits = { values: Infinity, fields: Infinity, depth: Infinity };
const notAnObject: Decoded = { ok: false, reason: 'not_an_object' };

function decodedOf(value: unknown): Decoded {
  return isRecord(value) ? { ok: true, value } : notAnObject;
}

/** @param text undefined if the bytes could not be decoded as UTF-8 */
function undecodedOf(error: unknown, text: string | undefined): Decoded {
  if (text === undefined) return { ok: false, reason: 'not_utf8' };
  if (error instanceof TooComplex) return { ok: false, reason: 'too_complex' };
  return { ok: false, reason: text.trim() === '' ? 'empty' : 'not_json' };
}

/**
 * A copy of an object without a field `__proto__`: JSON may have one, and code that copies it by assignment would
 * change an object's prototype.
 */
export function copyOf(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const copy = { ...fields };
  if (Object.hasOwn(copy, '__proto__')) delete copy['__proto__'];
  return copy;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** An integer of 16 digits or more where a JSON value can begin. A match inside a string costs only time. */
const mayHoldBigInteger = /(?:^|[[:,\s])-?\d{16}/;

/**
 * The value of a JSON text. `JSON.parse` alone is enough for nearly every delivery: the text is too short to exceed the
 * limits (each value and each name takes two characters), and no integer in it would be rounded.
 */
function valueOf(text: string, limits: JsonLimits): unknown {
  const { values, fields, depth } = limits;
  const isPlain =
    text.length <= Math.min(partLength, 2 * values, 2 * fields) &&
    (text.length < 2 * depth || countUpTo(text, '[', depth) + countUpTo(text, '{', depth) <= depth) &&
    !mayHoldBigInteger.test(text);
  if (isPlain) return JSON.parse(text);
  const reader = new JsonReader(text, limits);
  while (!reader.readPart());
  return reader.value;
}

/** How often a character is in a text. Stops counting above `max`. */
function countUpTo(text: string, character: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= max; at = text.indexOf(character, at + 1)) {
    count += 1;
  }
  return count;
}
