/**
 * Finds durations that were given as plain numbers, which count as milliseconds, and are so short that seconds may have
 * been meant: `timeout: 30`. A text such as '30ms' is unambiguous, and zero is zero in any unit.
 */
import { z } from 'zod';
import { isObject } from '../kit/values.ts';

/** An option whose number is suspiciously small. */
export interface ShortDuration {
  /** The path of the option, such as `retention.done`. */
  readonly option: string;
  readonly milliseconds: number;
}

const sensible = new WeakMap<z.ZodType, number>();

/** Marks the schema of a duration: a plain number below `shortest`, in milliseconds, is suspicious. */
export function sensibleFrom<Schema extends z.ZodType>(shortest: number, schema: Schema): Schema {
  sensible.set(schema, shortest);
  return schema;
}

/** The suspicious durations in options that the schema has accepted. */
export function shortDurationsIn(schema: z.ZodType, options: unknown): readonly ShortDuration[] {
  return found(schema, options, []);
}

function found(wrapped: z.ZodType, value: unknown, path: readonly string[]): readonly ShortDuration[] {
  const schema = unwrapped(wrapped);
  if (schema instanceof z.ZodObject) {
    const entries = Object.entries<z.ZodType>(schema.shape);
    return isObject(value)
      ? entries.flatMap(([name, inner]) => found(inner, value[name], [...path, name]))
      : [];
  }
  const shortest = sensible.get(schema);
  const isShort = typeof value === 'number' && shortest !== undefined && value > 0 && value < shortest;
  return isShort ? [{ option: path.join('.'), milliseconds: value }] : [];
}

/** The schema without its wrappers for optional values and defaults. */
function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
