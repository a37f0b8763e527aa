/** JSON Schemas (2020-12) of what zod's schemas take, in a form that people and code generators read easily. */
import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** The JSON Schema of a schema's input. Parts that occur several times are written out, without references. */
export function jsonSchemaOf(schema: z.core.$ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    // Leaves out a format where there is a pattern, which is more exact: a strict validator refuses unknown formats.
    override: ({ jsonSchema: node }) => {
      if (node.pattern !== undefined) delete node.format;
    },
  });
  return flattenTypes(rest) as Json;
}

/** Writes "a string or a number" as one list of types. */
function flattenTypes(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(flattenTypes);
  if (!isObject(node)) return node;
  const flat: Json = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, flattenTypes(value)]),
  );
  const { anyOf, ...rest } = flat;
  if (!Array.isArray(anyOf) || !anyOf.every(isSimple)) return flat;
  const merged: Json = Object.assign({}, ...anyOf);
  return { ...rest, ...merged, type: [...new Set(anyOf.flatMap((option) => option['type']))] };
}

/** Keywords that apply to one type only, so that options of different types can be merged. */
const simpleKeywords = new Set(['type', 'pattern', 'maxLength', 'examples']);

function isSimple(option: unknown): option is Json {
  return isObject(option) && 'type' in option && Object.keys(option).every((key) => simpleKeywords.has(key));
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
