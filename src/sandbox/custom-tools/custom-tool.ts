import { z } from 'zod';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The longest id, in characters: ids are parts of addresses. */
const longestId = 256;

const text = z.string('Should be text');
const filledText = text.regex(/\S/, 'Should not be blank');
const map = 'Should be an object';

const parametersSchema = z
  .looseObject(
    {
      type: z.literal('object', "Should be 'object'"),
      properties: z.record(z.string(), z.looseObject({ type: text, description: text }, map), map),
      required: z.array(text, 'Should be a list of parameter names').optional(),
      additionalProperties: z.boolean('Should be true or false').optional(),
    },
    map,
  )
  .refine(
    ({ properties, required = [] }) => required.every((parameter) => Object.hasOwn(properties, parameter)),
    { path: ['required'], error: 'Should name parameters that are in properties' },
  );

const apiSchema = z.looseObject(
  {
    endpoint: z.url({ protocol: /^https?$/, error: 'Should be an http or https address' }),
    method: z.enum(methods, `Should be one of ${methods.join(', ')}`),
    headers: z.record(z.string(), text, map).optional(),
    parameters: z
      .looseObject(
        {
          fixed_params: z
            .record(z.string(), z.looseObject({ description: text, value: text }, map), map)
            .optional(),
          // The document doesn't show what an entry looks like.
          runtime_params: z.record(z.string(), z.unknown(), map).optional(),
        },
        map,
      )
      .optional(),
  },
  map,
);

/**
 * What a client sends of a custom tool (platform document, CustomTool). The document doesn't show which fields are
 * required: here it is those that a tool can't be called without. Unknown fields are stored unchanged.
 */
export const customToolSchema = z.looseObject(
  {
    openai_tool: z.looseObject({ name: filledText, description: text, parameters: parametersSchema }, map),
    additional_tool_info: z.looseObject(
      { tool_type: z.literal('custom', "Should be 'custom'"), api: apiSchema },
      map,
    ),
    tool_id: filledText.max(longestId, `Should have at most ${longestId} characters`).optional(),
    tool_start_message: text.optional(),
    tool_delayed_message: text.optional(),
    tool_complete_message: text.optional(),
    tool_failed_message: text.optional(),
  },
  map,
);

/** A custom tool as a client sends it. */
export type CustomToolFields = z.output<typeof customToolSchema>;

/** A custom tool as the platform answers it. */
export interface CustomTool extends CustomToolFields {
  readonly tool_id: string;
  /** ISO 8601 with milliseconds and `Z`. */
  readonly created_at: string;
  readonly updated_at: string;
}
