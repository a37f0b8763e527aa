/**
 * A schema's parser copies all that it is given, and makes an issue for each fault. For a large body, that would take
 * seconds and gigabytes. So it is given only the part that the schema describes.
 */
import type { z } from 'zod';
import { copyOf } from './decoding.ts';
import { isRecord } from '../kit/values.ts';

type Fields = Record<string, unknown>;

/** How many items of a list are compared with its schema: a fault in one item is mostly in all. */
export const maxItems = 1_000;
/** A list is copied only if its items have no more fields than this in all. */
const maxFields = 10_000;

/** The part of a value that a schema describes: the documented fields of objects, and the first items of lists. */
export function documentedPart(schema: z.core.$ZodType, value: unknown): unknown {
  const def = defOf(schema);
  if (def.type === 'nullable' || def.type === 'optional') return documentedPart(def.innerType, value);
  if (def.type === 'pipe') return documentedPart(def.in, value);
  if (def.type === 'array' && Array.isArray(value)) {
    return value.slice(0, maxItems).map((item) => documentedPart(def.element, item));
  }
  if (def.type !== 'object' || !isRecord(value)) return value;
  const part: Fields = {};
  for (const [name, field] of Object.entries(def.shape)) {
    if (Object.hasOwn(value, name)) part[name] = documentedPart(field, value[name]);
  }
  return part;
}

/** A copy of the value with what a parser has made of its documented part. Large lists stay as they are. */
function withParsed(value: unknown, parsed: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(parsed)) {
    return isLarge(value) ? value : value.map((item, index) => withParsed(item, parsed[index]));
  }
  return isRecord(value) && isRecord(parsed) ? assignParsed(copyOf(value), parsed) : parsed;
}

/** The same for an object that belongs to the caller: it is changed instead of copied. */
export function assignParsed(own: Fields, parsed: Readonly<Fields>): Fields {
  for (const [name, value] of Object.entries(parsed)) own[name] = withParsed(own[name], value);
  return own;
}

function isLarge(list: readonly unknown[]): boolean {
  if (list.length > maxItems) return true;
  let fields = 0;
  return list.some((item) => {
    if (isRecord(item)) fields += Object.keys(item).length;
    return fields > maxFields;
  });
}

export function defOf(schema: z.core.$ZodType) {
  const { _zod } = schema as z.core.$ZodTypes;
  const { def } = _zod;
  return def;
}
