import { z } from 'zod';
import { isLoopbackHost } from '../../kit/addresses.ts';
import { checked, headersOption, parseStrictly } from '../../errors/option-problems.ts';
import { defined } from '../../kit/values.ts';
import type { NewCustomTool } from '../resources/custom-tool.ts';
import type { ParametersSchema } from './parameters-schema.ts';

/** A value that the platform sends with every call of the tool (platform document, CustomTool). */
export interface FixedParameter {
  readonly description: string;
  readonly value: string;
}

/** Options of `tool.registration`. */
export interface RegistrationOptions {
  /** Where the platform reaches the tool: an https address, or http on loopback for the sandbox. */
  readonly endpoint: string;
  /** The method of a call. With GET and DELETE the arguments are in the query. @default 'POST' */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined;
  /** Sent with every call: the headers that `toolMiddleware` expects. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent with every call, beside the model's arguments; `run` finds them in `context.additional`. @default none */
  readonly fixedParams?: Readonly<Record<string, FixedParameter>> | undefined;
  /** Sent unchanged: the platform's document doesn't show what an entry looks like. @default {} */
  readonly runtimeParams?: Readonly<Record<string, unknown>> | undefined;
  /** The tool's id at the platform. @default the tool's name */
  readonly toolId?: string | undefined;
}

/** The texts around a call of the tool (platform document, CustomTool). */
export interface ToolMessages {
  /** Shown when the tool starts. */
  readonly start?: string | undefined;
  /** Shown when it takes long. */
  readonly delayed?: string | undefined;
  /** Shown when it has completed. */
  readonly complete?: string | undefined;
  /** Shown when it has failed. */
  readonly failed?: string | undefined;
}

/** What `customTools.ensure` and `create` take (platform document, CustomTool). */
export interface ToolRegistration extends NewCustomTool {
  readonly openai_tool: {
    readonly name: string;
    readonly description: string;
    readonly parameters: ParametersSchema;
  };
  readonly tool_id: string;
}

interface Described {
  readonly name: string;
  readonly description: string;
  readonly parameters: ParametersSchema;
  readonly messages: ToolMessages;
}

/** A text of a definition or a registration, for people or the model. */
export const filled = z.string('text that is not blank').regex(/\S/, 'text that is not blank');

const optionsSchema = (parameters: readonly string[]) =>
  z.strictObject({
    endpoint: checked('an https address (http on loopback only, for the sandbox)', readEndpoint),
    method: z
      .enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], "'GET', 'POST', 'PUT', 'PATCH' or 'DELETE'")
      .default('POST'),
    headers: headersOption.default({}),
    fixedParams: z
      .record(
        z.string(),
        z.strictObject(
          { description: filled, value: z.string('text') },
          'an object with description and value',
        ),
        'an object of names, each with description and value',
      )
      // With equal names, the platform's merge into the arguments would lose one of the two.
      .refine((fixed) => !parameters.some((name) => Object.hasOwn(fixed, name)), {
        message: `an object whose names are not parameters of the tool (${parameters.join(', ')})`,
      })
      .default({}),
    runtimeParams: z.record(z.string(), z.unknown(), 'an object').default({}),
    toolId: filled.optional(),
  });

/** The body with which the tool is created. @throws ConfigError, without the values of headers */
export function registrationOf(tool: Described, options: RegistrationOptions): ToolRegistration {
  const { name, description, parameters, messages } = tool;
  const schema = optionsSchema(Object.keys(parameters.properties));
  const { toolId = name, ...api } = parseStrictly(schema, options, 'registration');
  return {
    openai_tool: { name, description, parameters },
    additional_tool_info: {
      tool_type: 'custom',
      api: {
        endpoint: api.endpoint,
        method: api.method,
        headers: api.headers,
        parameters: { fixed_params: api.fixedParams, runtime_params: api.runtimeParams },
      },
    },
    tool_id: toolId,
    ...defined({
      tool_start_message: messages.start,
      tool_delayed_message: messages.delayed,
      tool_complete_message: messages.complete,
      tool_failed_message: messages.failed,
    }),
  };
}

/** Refuses plain HTTP except on loopback: the headers are credentials and could be read on the way. */
function readEndpoint(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const url = URL.parse(value);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  return isSafe ? value : undefined;
}
