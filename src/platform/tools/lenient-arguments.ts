import { exactJsonIn } from '../../events/decoding.ts';
import { isRecord } from '../../kit/values.ts';

/** The limits of arguments, far above what a model writes. */
export const argumentLimits = { values: 100_000, fields: 20_000, depth: 1_000 };

interface Wanted {
  readonly type?: unknown;
  readonly items?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** Digits match in one way only: otherwise, a long row of digits with a wrong end would backtrack exponentially. */
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Converts arguments as models and query strings write them to the schema's types: numbers and booleans in text, texts
 * written as numbers, a single value in place of a list, JSON in text, and null or empty text for optional arguments. A
 * value that can't be converted is left for the schema to refuse.
 */
export function readLeniently(value: unknown, wanted: unknown): unknown {
  const schema = wantedOf(wanted);
  switch (schema.type) {
    case 'number':
    case 'integer':
      return numberFrom(value);
    case 'boolean':
      return switchFrom(value);
    case 'string':
      return textFrom(value);
    case 'array':
      return listFrom(value, schema);
    case 'object':
      return objectFrom(value, schema);
    default:
      return value;
  }
}

/** Digits beyond a number's precision stay text, for the schema to refuse: rounded, they could name another order. */
function numberFrom(value: unknown): unknown {
  if (typeof value !== 'string' || !decimal.test(value.trim())) return value;
  const number = Number(value);
  return /^[+-]?\d+(?:\.\d*)?$/.test(value.trim()) && Math.abs(number) > Number.MAX_SAFE_INTEGER
    ? value
    : number;
}

function switchFrom(value: unknown): unknown {
  const text = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (text === 'true' || text === '1' || text === 1) return true;
  return text === 'false' || text === '0' || text === 0 ? false : value;
}

/** A model may send an order number, which is a text, as a number. */
function textFrom(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

function listFrom(value: unknown, { items }: Wanted): unknown {
  const parsed = parsedWhere(value, Array.isArray);
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return list.map((item) => readLeniently(item, items));
}

function objectFrom(value: unknown, { properties = {}, required = [] }: Wanted): unknown {
  const parsed = parsedWhere(value, isRecord);
  if (!isRecord(parsed)) return value;
  const entries = Object.entries(parsed).flatMap(([name, inner]) => {
    if (!Object.hasOwn(properties, name)) return [[name, inner]];
    const isLeftOut = !required.includes(name) && isNothing(inner, wantedOf(properties[name]));
    return isLeftOut ? [] : [[name, readLeniently(inner, properties[name])]];
  });
  return Object.fromEntries(entries) as unknown;
}

function isNothing(value: unknown, { type }: Wanted): boolean {
  return value === null || value === undefined || (value === '' && type !== 'string');
}

/** The value parsed as JSON if it is text and the result is of the wanted kind; otherwise the value itself. */
function parsedWhere(value: unknown, isOfKind: (value: unknown) => boolean): unknown {
  if (typeof value !== 'string') return value;
  const parsed = exactJsonIn(value, argumentLimits);
  return isOfKind(parsed) ? parsed : value;
}

function wantedOf(value: unknown): Wanted {
  return isRecord(value) ? value : {};
}
