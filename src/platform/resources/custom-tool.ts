import { z } from 'zod';
import { fieldsOf } from '../../kit/values.ts';
import { unset } from '../requests/shapes.ts';

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

/**
 * The platform's document doesn't show which fields are required. These are required because without them the model
 * doesn't know the function, or the platform doesn't know what to call.
 */
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

/**
 * The credentials in a tool, which no error may contain although the platform's answer may quote them. Takes tools of
 * any form, because the platform may have answered it.
 */
export function credentialsIn(tool: unknown): readonly string[] {
  const api = fieldsOf(fieldsOf(fieldsOf(tool)['additional_tool_info'])['api']);
  const fixed = Object.values(fieldsOf(fieldsOf(api['parameters'])['fixed_params']));
  return [...Object.values(fieldsOf(api['headers'])), ...fixed.map((entry) => fieldsOf(entry)['value'])]
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String);
}
