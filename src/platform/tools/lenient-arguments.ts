import { isObject } from '../../option-problems.ts';

/** What is looked at of a JSON Schema. */
interface Wanted {
  readonly type?: unknown;
  readonly items?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** Digits can be taken in one way only: with two, a long row of them that ends otherwise is tried in all of them. */
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Arguments as models and query strings write them, turned into what the schema asks for: numbers and switches
 * written as text, texts written as numbers, one thing where a list is wanted, JSON within text, and null or empty
 * text for what may be left out. What can't be turned stays as it is, for the schema to refuse.
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

function numberFrom(value: unknown): unknown {
  return typeof value === 'string' && decimal.test(value.trim()) ? Number(value) : value;
}

function switchFrom(value: unknown): unknown {
  const text = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (text === 'true' || text === '1' || text === 1) return true;
  return text === 'false' || text === '0' || text === 0 ? false : value;
}

/** A model that is asked for an order's number may well send one. */
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

/** The value, or what it says as JSON where that is of the kind that is wanted. */
function parsedWhere(value: unknown, isOfKind: (value: unknown) => boolean): unknown {
  if (typeof value !== 'string') return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return isOfKind(parsed) ? parsed : value;
  } catch {
    return value;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

function wantedOf(value: unknown): Wanted {
  return isRecord(value) ? value : {};
}
