/** What is documented about a JSON value, derived from the schemas so that nothing is listed twice. */
import { z } from 'zod';
import { isRecord } from '../kit/values.ts';

/** What is known about a value. */
export interface KnownShape {
  /** Types as JSON has them: those of `typeof`, `array` and `null`. Empty if any type is allowed. */
  readonly types: ReadonlySet<string>;
  /** The documented values of an enumeration. */
  readonly values: ReadonlySet<string>;
  /** The documented fields of an object. */
  readonly fields: ReadonlyMap<string, KnownShape>;
  /** The shape of an array's items. */
  readonly items: KnownShape | undefined;
}

/** The shape of the values that a schema accepts. */
export function knownShapeOf(schema: z.ZodType): KnownShape {
  return shapeOf(z.toJSONSchema(schema, { io: 'input' }));
}

type Json = Readonly<Record<string, unknown>>;

/** Merges the alternatives of a schema: a value may be any of them. */
function shapeOf(json: Json): KnownShape {
  const alternatives = listOf(json['anyOf']).filter(isRecord).map(shapeOf);
  const { properties, items } = json;
  const fields = isRecord(properties) ? Object.entries(properties) : [];
  return {
    types: new Set([...typesOf(json), ...alternatives.flatMap(({ types }) => [...types])]),
    values: new Set([
      ...listOf(json['examples']).filter((value) => typeof value === 'string'),
      ...alternatives.flatMap(({ values }) => [...values]),
    ]),
    fields: new Map([
      ...fields.map(([name, field]) => [name, shapeOf(field as Json)] as const),
      ...alternatives.flatMap((alternative) => [...alternative.fields]),
    ]),
    items: isRecord(items) ? shapeOf(items) : alternatives.find((shape) => shape.items)?.items,
  };
}

function typesOf({ type }: Json): string[] {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
  return types.map((name) => (name === 'integer' ? 'number' : name));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
