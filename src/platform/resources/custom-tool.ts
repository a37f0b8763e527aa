import { isDeepStrictEqual } from 'node:util';
import { ringbackError } from '../../errors/errors.ts';
import { masked, unset } from '../requests/shapes.ts';
import { z } from 'zod';
import { fieldsOf } from '../../kit/values.ts';

/** The function that the model sees (platform document, CustomTool). */
export interface ToolFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: {
    readonly type: 'object';
    /** Other JSON Schema keywords of a parameter are sent unchanged. */
    readonly properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
    readonly required?: readonly string[] | undefined;
    readonly additionalProperties?: boolean | undefined;
  };
}

/** How the platform calls the tool (platform document, CustomTool). */
export interface ToolApi {
  readonly endpoint: string;
  readonly method: string;
  /** Usually credentials: never in an error or a log. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly parameters?:
    | {
        readonly fixed_params?:
          | Readonly<Record<string, { readonly description: string; readonly value: string }>>
          | undefined;
        /** The form of an entry is not in the platform's document. */
        readonly runtime_params?: Readonly<Record<string, unknown>> | undefined;
      }
    | undefined;
}

/** A custom tool to register: what `defineTool(…).registration(…)` returns, or the same by hand. */
export interface NewCustomTool {
  readonly openai_tool: ToolFunction;
  readonly additional_tool_info: { readonly tool_type: 'custom'; readonly api: ToolApi };
  readonly tool_id?: string | undefined;
  readonly tool_start_message?: string | undefined;
  readonly tool_delayed_message?: string | undefined;
  readonly tool_complete_message?: string | undefined;
  readonly tool_failed_message?: string | undefined;
}

/** A custom tool in the platform's answers. Only its id is required; unlisted fields are kept unchanged. */
export interface CustomTool {
  readonly tool_id: string;
  readonly openai_tool?: Readonly<Record<string, unknown>> | undefined;
  readonly additional_tool_info?: Readonly<Record<string, unknown>> | undefined;
  /** ISO 8601. */
  readonly created_at?: string | undefined;
  /** ISO 8601. */
  readonly updated_at?: string | undefined;
  readonly [field: string]: unknown;
}

const text = z.string('text');
const filled = text.min(1, 'text that is not empty');

/** An error must not quote a value: the values of headers are credentials. */
const headersSchema = z
  .record(z.string(), z.unknown(), 'an object of header names and texts')
  .refine(
    (headers) => Object.values(headers).every((value) => typeof value === 'string'),
    'an object of header names and texts',
  );

/** Required is what the model, or the platform, needs for a call: the document doesn't show what is. */
export const newToolSchema = z.strictObject({
  openai_tool: z.strictObject({
    name: filled,
    description: text,
    parameters: z.strictObject({
      type: z.literal('object', "'object'"),
      properties: z.record(
        z.string(),
        z.looseObject({ type: filled, description: text }),
        'an object of parameters, each with type and description',
      ),
      required: z.array(text, 'a list of parameter names').optional(),
      additionalProperties: z.boolean('true or false').optional(),
    }),
  }),
  additional_tool_info: z.strictObject({
    tool_type: z.literal('custom', "'custom'"),
    api: z.strictObject({
      endpoint: text.regex(/^https?:\/\//, 'a URL that begins with https:// (or http://)'),
      method: filled,
      headers: headersSchema.optional(),
      parameters: z
        .strictObject({
          fixed_params: z
            .record(
              z.string(),
              z.strictObject({ description: text, value: text }),
              'an object of names, each with description and value',
            )
            .optional(),
          runtime_params: z.record(z.string(), z.unknown(), 'an object').optional(),
        })
        .optional(),
    }),
  }),
  tool_id: filled.optional(),
  tool_start_message: text.optional(),
  tool_delayed_message: text.optional(),
  tool_complete_message: text.optional(),
  tool_failed_message: text.optional(),
});

export const customToolShape = z.looseObject({
  tool_id: z.string(),
  openai_tool: unset(z.looseObject({})),
  additional_tool_info: unset(z.looseObject({})),
  created_at: unset(z.string()),
  updated_at: unset(z.string()),
}) satisfies z.ZodType<CustomTool>;

/** The credentials in a tool of any form, which no error may contain although the answer may quote them. */
export function credentialsIn(tool: unknown): readonly string[] {
  const api = fieldsOf(fieldsOf(fieldsOf(tool)['additional_tool_info'])['api']);
  const fixed = Object.values(fieldsOf(fieldsOf(api['parameters'])['fixed_params']));
  return [...Object.values(fieldsOf(api['headers'])), ...fixed.map((entry) => fieldsOf(entry)['value'])]
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String);
}

/** The result of `customTools.ensure`. */
export interface EnsuredCustomTool {
  /** As the platform stored it. */
  readonly tool: CustomTool;
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

type Fields = Readonly<Record<string, unknown>>;

/** Compares by id (platform document, CustomTool), or without one by the name of the function. */
export function isSameTool(tool: CustomTool, { tool_id: id, openai_tool: { name } }: NewCustomTool): boolean {
  return id === undefined ? tool.openai_tool?.['name'] === name : tool.tool_id === id;
}

/** The whole tool with the wanted fields; undefined if nothing differs. @throws RingbackError `update_unsafe` */
export function changedTool(current: CustomTool, tool: NewCustomTool): Fields | undefined {
  // As JSON: a field that is undefined counts as not given.
  const wanted = JSON.parse(JSON.stringify(tool)) as NewCustomTool;
  const present = withoutReadOnly(current);
  const whole = toolWith(present, wanted);
  if (isDeepStrictEqual(whole, present)) return undefined;
  refuseMasked(whole, wanted);
  return whole;
}

/** Removes the read-only fields (platform document, CustomTool). A PUT without any other field might clear it. */
function withoutReadOnly({ created_at: _created, updated_at: _updated, ...present }: CustomTool): Fields {
  return present;
}

/**
 * The current tool with the wanted fields. Others stay, because a PUT would clear fields that it doesn't contain. Maps
 * of names (parameters, headers) are replaced, so that names that are no longer wanted go.
 */
function toolWith(present: Fields, wanted: NewCustomTool): Fields {
  const { openai_tool: tool, additional_tool_info: info } = present;
  const { api } = fieldsOf(info);
  const { parameters } = fieldsOf(api);
  const wantedInfo = wanted.additional_tool_info;
  const wantedParameters = wantedInfo.api.parameters;
  return {
    ...present,
    ...wanted,
    openai_tool: { ...fieldsOf(tool), ...wanted.openai_tool },
    additional_tool_info: {
      ...fieldsOf(info),
      ...wantedInfo,
      api: {
        ...fieldsOf(api),
        ...wantedInfo.api,
        ...(wantedParameters && { parameters: { ...fieldsOf(parameters), ...wantedParameters } }),
      },
    },
  };
}

/** Refuses to send a masked value back, which would replace the credential. */
function refuseMasked(whole: Fields, wanted: NewCustomTool): void {
  const given = new Set(credentialsIn(wanted));
  if (!credentialsIn(whole).some((value) => masked.test(value) && !given.has(value))) return;
  throw ringbackError('update_unsafe', {
    cause: 'the platform shows the values of headers or fixed parameters masked, so they would be lost',
    fix: 'Set them in the tool.',
  });
}
