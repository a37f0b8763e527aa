import { decodeBody } from '../../events/decoding.ts';
import { jsonIn } from '../../kit/http-bodies.ts';

/** What arguments may consist of: far more than a model writes. */
const limits = { values: 100_000, fields: 20_000, depth: 1_000 };

/**
 * The JSON in a text or in bytes, or undefined if it is none. Integers that a number can't hold are strings of the same digits:
 * a rounded order number is that of another customer.
 *
 * @example exactJsonIn('[1234567890123456789]') // ['1234567890123456789']
 */
export function exactJsonIn(json: string | Uint8Array): unknown {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  const decoded = decodeBody(bytes, limits);
  if (decoded.ok) return decoded.value;
  if (decoded.reason !== 'not_an_object' || jsonIn(bytes) === undefined) return undefined;
  // Only objects are decoded. That it is JSON is known by now, so that nothing in it ends the object around it.
  const wrapped = decodeBody(Buffer.concat([Buffer.from('{"value":'), bytes, Buffer.from('}')]), limits);
  return wrapped.ok ? wrapped.value['value'] : undefined;
}
