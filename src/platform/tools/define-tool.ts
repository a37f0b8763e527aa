import { z } from 'zod';
import { checked, parseStrictly } from '../../errors/option-problems.ts';
import { isRecord } from '../../kit/values.ts';
import { readLeniently } from './lenient-arguments.ts';
import { type ParametersSchema, parametersSchemaOf } from './parameters-schema.ts';
import {
  type RegistrationOptions,
  type ToolMessages,
  type ToolRegistration,
  filled,
  registrationOf,
} from './registration.ts';
import { argumentsError } from './tool-error.ts';

/** What a tool's `run` gets besides the arguments. */
export interface ToolContext {
  /** Aborted at the deadline, and when the caller closes the connection. */
  readonly signal: AbortSignal;
  /** Arguments that are not parameters of the tool: its fixed parameters, and others that the platform adds. */
  readonly additional: Readonly<Record<string, unknown>>;
}

/** The definition of a tool: what the model sees, and what to do when the model calls it. */
export interface ToolDefinition<Parameters extends z.ZodObject> {
  /** The tool's name for the model, and the last part of its path: up to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** What the tool does and when to use it, for the model. */
  readonly description: string;
  /** An object schema; each parameter needs a description, for the model. */
  readonly parameters: Parameters;
  /**
   * Does the work. Its result is sent as JSON: an object unchanged, anything else as `{ result }`. A `ToolError` is a
   * failure that the agent may speak about; the messages of other errors are not sent.
   */
  readonly run: (args: z.output<Parameters>, context: ToolContext) => unknown;
  /** The texts around a call of the tool. @default none */
  readonly messages?: ToolMessages | undefined;
}

/** A tool made by `defineTool`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** The parameters in the platform's form. */
  readonly parameters: ParametersSchema;
  /**
   * The body with which `customTools.ensure` or `create` registers it.
   *
   * @throws ConfigError for an invalid option
   * @example
   * tool.registration({ endpoint: 'https://calls.example.com/tools/find_order', headers: { 'x-tool-key': key } })
   */
  registration(options: RegistrationOptions): ToolRegistration;
  /**
   * Reads the arguments leniently, checks them, and runs the tool without HTTP, for example in a test.
   *
   * @throws ToolError when an argument is missing or wrong; rejects with the error that `run` throws
   * @example expect(await tool.call({ order_number: '4711' })).toEqual({ status: 'sent' });
   */
  call(args: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<unknown>;
}

const expectedName = "up to 64 letters, digits, '_' and '-'";

const definitionSchema = z.strictObject({
  name: z.string(expectedName).regex(/^[A-Za-z0-9_-]{1,64}$/, expectedName),
  description: filled,
  parameters: checked('an object schema of zod 4, such as z.object({ … })', (value) =>
    value instanceof z.ZodObject ? value : undefined,
  ),
  run: checked('a function', (value) => (typeof value === 'function' ? (value as Run) : undefined)),
  messages: z
    .strictObject({
      start: filled.optional(),
      delayed: filled.optional(),
      complete: filled.optional(),
      failed: filled.optional(),
    })
    .prefault({}),
});

type Run = (args: unknown, context: ToolContext) => unknown;

/**
 * Defines a custom tool for both sides: its `registration` describes it to the platform, and `toolMiddleware` answers
 * the platform's calls.
 *
 * @throws ConfigError for an invalid definition, or parameters that the platform's form can't express
 * (platform document, CustomTool)
 * @example
 * const findOrder = defineTool({
 *   name: 'find_order',
 *   description: 'Looks up the state of an order.',
 *   parameters: z.object({ order_number: z.string().describe('The number on the invoice') }),
 *   run: async ({ order_number }) => ({ status: await statusOf(order_number) }),
 * });
 */
export function defineTool<Parameters extends z.ZodObject>(definition: ToolDefinition<Parameters>): Tool {
  const { name, description, ...rest } = parseStrictly(
    definitionSchema,
    definition,
    'defineTool',
    'definition',
  );
  const parameters = parametersSchemaOf(rest.parameters);
  const messages = rest.messages as ToolMessages;
  return Object.freeze({
    name,
    description,
    parameters,
    registration: (options: RegistrationOptions) =>
      registrationOf({ name, description, parameters, messages }, options),
    async call(
      args: unknown,
      { signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {},
    ) {
      const given = readLeniently(args ?? {}, parameters);
      const { known, additional } = divided(given, parameters);
      // Unknown arguments never make a call fail, because the platform adds the fixed parameters.
      const result = await z.safeParseAsync(rest.parameters, parameters.additionalProperties ? given : known);
      if (!result.success) throw argumentsError(result.error, given, parameters);
      return rest.run(result.data, { signal, additional });
    },
  });
}

/** Splits the arguments into parameters and others, without `__proto__`. What is no object is left to the schema. */
function divided(given: unknown, { properties }: ParametersSchema) {
  if (!isRecord(given)) return { known: given, additional: {} };
  const entries = Object.entries(given);
  const isKnown = ([name]: readonly [string, unknown]) => Object.hasOwn(properties, name);
  return {
    known: Object.fromEntries(entries.filter(isKnown)),
    additional: Object.fromEntries(entries.filter((entry) => !isKnown(entry) && entry[0] !== '__proto__')),
  };
}
