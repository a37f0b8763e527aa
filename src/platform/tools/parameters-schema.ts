import { z } from 'zod';
import { configError, RingbackError } from '../../errors/errors.ts';
import { messageOf } from '../../kit/error-text.ts';
import { fieldsOf, isObject } from '../../kit/values.ts';

/** One parameter as the model sees it (platform document, CustomTool). */
export interface ParameterSchema {
  readonly type: ParameterType;
  readonly description: string;
  /** Other JSON Schema keywords that tell the model what to send: `enum`, `format`, `items`, `minimum` and so on. */
  readonly [keyword: string]: unknown;
}

/** The parameters of a tool in the platform's form (platform document, CustomTool). */
export interface ParametersSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, ParameterSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: boolean;
}

type ParameterType = (typeof parameterTypes)[number];

const parameterTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const;

/** Keywords that are sent besides type and description. Others are only checked when arguments arrive. */
const keptKeywords = [
  'enum',
  'format',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
] as const;

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Converts a schema to the platform's form. A schema that this form can't express is refused, not simplified: otherwise
 * the model would send arguments that the tool doesn't accept.
 *
 * @throws ConfigError `option_invalid` for a parameter without a description, without exactly one type (a choice
 * between types, null, anything at all), or of a kind that JSON doesn't have (a date, a bigint, a map)
 */
export function parametersSchemaOf(schema: z.ZodObject): ParametersSchema {
  return objectOf(jsonSchemaOf(schema), 'parameters');
}

function jsonSchemaOf(schema: z.ZodObject): JsonSchema {
  try {
    return z.toJSONSchema(schema, {
      io: 'input',
      cycles: 'throw',
      unrepresentable: ({ path }) => {
        throw unsayable(
          optionAt(path),
          'something that JSON can represent',
          'of a type that JSON does not have',
        );
      },
    });
  } catch (error) {
    if (error instanceof RingbackError) throw error;
    throw unsayable('parameters', 'a schema that JSON Schema can express', messageOf(error));
  }
}

function objectOf(json: JsonSchema, option: string): ParametersSchema {
  const properties = Object.entries(fieldsOf(json['properties'])).map(
    ([name, inner]) => [name, describedOf(fieldsOf(inner), `${option}.${name}`)] as const,
  );
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: (json['required'] as string[] | undefined) ?? [],
    // The form can't restrict additional properties; the schema checks them when arguments arrive.
    additionalProperties: (json['additionalProperties'] ?? false) !== false,
  };
}

function describedOf(json: JsonSchema, option: string): ParameterSchema {
  const { $ref: reference, description } = json;
  if (reference !== undefined) {
    const fix = 'Remove the id from its metadata.';
    throw unsayable(option, 'defined inline', 'a schema with an id, which becomes a reference', fix);
  }
  if (typeof description === 'string' && description.trim() !== '') {
    return { ...typedOf(json, option), description };
  }
  const fix = "Add .describe('…') to it.";
  throw unsayable(
    option,
    'described, because the model relies on the description',
    'without a description',
    fix,
  );
}

interface Typed {
  readonly type: ParameterType;
  readonly [keyword: string]: unknown;
}

function typedOf(json: JsonSchema, option: string): Typed {
  const type = parameterTypes.find((known) => known === json['type']);
  if (type === undefined) {
    throw unsayable(
      option,
      `of one type (${parameterTypes.join(', ')})`,
      'a choice between types, null, or anything',
      'If it may be missing, use .optional().',
    );
  }
  if (type === 'object') return { ...objectOf(json, option), ...keptOf(json) };
  if (type === 'array') return { type, items: itemsOf(json, option), ...keptOf(json) };
  return { type, ...keptOf(json) };
}

function itemsOf(json: JsonSchema, option: string): JsonSchema {
  if (isObject(json['items'])) return typedOf(json['items'], `${option}.items`);
  throw unsayable(option, 'a list of items of one type', 'a list whose items have different types');
}

function keptOf(json: JsonSchema): JsonSchema {
  const kept = keptKeywords.map((keyword) => [keyword, json[keyword]] as const);
  const constant = 'const' in json ? [['enum', [json['const']]] as const] : [];
  return Object.fromEntries(
    [...kept, ...constant].filter(([, value]) => value !== undefined && !isNoBound(value)),
  );
}

/** Whether a value is only JavaScript's safe integer limit, which zod adds and which tells a model nothing. */
function isNoBound(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) >= Number.MAX_SAFE_INTEGER;
}

/** The name of a parameter as the user writes it, from a path in JSON Schema (`properties`, a name, `items`). */
function optionAt(path: readonly (string | number)[]): string {
  return ['parameters', ...path].join('.').replaceAll('.properties.', '.');
}

function unsayable(option: string, expected: string, found: string, fix?: string): RingbackError {
  return configError('option_invalid', { option: `${option} in defineTool`, expected, found, fix });
}
