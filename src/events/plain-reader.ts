/**
 * Readers of values that are valid and that the schema doesn't convert: nearly all that the platform sends. A reader is
 * made from the schema once, and is many times cheaper than the schema's own parser, which reads the rest.
 */
import type { z } from 'zod';
import { isRecord } from './decoding.ts';
import { defOf, maxItems } from './documented-part.ts';

/** Returned for a value that only the schema's own parser can convert, or find the fault of. */
export const unusual = Symbol('unusual');

/** Returns a copy of a value that its schema accepts without converting anything; for any other value, `unusual`. */
export type PlainReader = (value: unknown) => unknown;

/** A reader of an object's schema that makes no copy. It changes the object, which must be the caller's own. */
export function ownReaderOf(schema: z.core.$ZodType): PlainReader {
  const def = defOf(schema);
  return def.type === 'object' && !def.checks?.length ? objectReader(def, (own) => own) : neverPlain;
}

/** A reader of a schema. It knows the kinds of schema that describe events; for others, every value is unusual. */
export function plainReaderOf(schema: z.core.$ZodType): PlainReader {
  const def = defOf(schema);
  // A check may refuse a value of the right kind.
  if (def.type !== 'string' && def.checks?.length) return neverPlain;
  if (def.type === 'string') return textReader(def);
  if (def.type === 'number') return (value) => (Number.isFinite(value) ? value : unusual);
  if (def.type === 'nullable') return plainReaderOf(def.innerType);
  if (def.type === 'optional') return optionalReader(plainReaderOf(def.innerType));
  if (def.type === 'union') return firstOf(def.options.map(plainReaderOf));
  if (def.type === 'array') return listReader(plainReaderOf(def.element));
  if (def.type === 'object') return objectReader(def, (value) => ({ ...value }));
  if (def.type === 'pipe') return untransformed(plainReaderOf(def.in), def.out);
  return neverPlain;
}

const neverPlain: PlainReader = () => unusual;

function textReader({ checks = [] }: z.core.$ZodStringDef): PlainReader {
  const passes = checks.map(({ _zod }) => checkOf(_zod.def));
  return (value) => (typeof value === 'string' && passes.every((pass) => pass(value)) ? value : unusual);
}

type TextCheck = Partial<
  Pick<z.core.$ZodCheckRegexDef, 'pattern'> &
    Pick<z.core.$ZodCheckMaxLengthDef, 'maximum'> &
    Pick<z.core.$ZodCustomDef<string>, 'fn'>
>;

/** For a check of another kind, every text is unusual. */
function checkOf(def: z.core.$ZodCheckDef): (text: string) => boolean {
  const { pattern, maximum, fn } = def as TextCheck;
  if (maximum !== undefined) return (text) => text.length <= maximum;
  return (text) => pattern?.test(text) ?? fn?.(text) === true;
}

function optionalReader(read: PlainReader): PlainReader {
  return (value) => (value === undefined ? undefined : read(value));
}

function firstOf(readers: readonly PlainReader[]): PlainReader {
  return (value) => {
    for (const read of readers) {
      const plain = read(value);
      if (plain !== unusual) return plain;
    }
    return unusual;
  };
}

function listReader(readItem: PlainReader): PlainReader {
  return (value) => {
    if (!Array.isArray(value) || value.length > maxItems) return unusual;
    const items: unknown[] = [];
    for (const item of value) {
      const plain = readItem(item);
      if (plain === unusual) return unusual;
      items.push(plain);
    }
    return items;
  };
}

type Fields = Record<string, unknown>;

function objectReader(
  { shape, catchall }: z.core.$ZodObjectDef,
  copyOf: (value: Readonly<Fields>) => Fields,
): PlainReader {
  // Only objects that keep unknown fields as they are can be read here.
  if (!catchall || defOf(catchall).type !== 'unknown') return neverPlain;
  const fields = Object.entries(shape).map(([name, schema]) => [name, plainReaderOf(schema)] as const);
  return (value) => {
    if (!isRecord(value) || Object.hasOwn(value, '__proto__')) return unusual;
    const copy = copyOf(value);
    for (const [name, read] of fields) {
      const field = copy[name];
      const plain = read(field);
      if (plain === unusual) return unusual;
      if (plain !== field) copy[name] = plain;
    }
    return copy;
  };
}

/** A reader of a schema with a transformation, which it calls to see whether it changes the value. */
function untransformed(read: PlainReader, out: z.core.$ZodType): PlainReader {
  const def = defOf(out);
  if (def.type !== 'transform') return neverPlain;
  return (value) => {
    const plain = read(value);
    return plain !== unusual && def.transform(plain, { value: plain, issues: [] }) === plain
      ? plain
      : unusual;
  };
}
