import type { Logger } from 'pino';
import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import type { Duration } from '../../kit/duration.ts';
import { RequiredHeaders, hasOwnHeader } from '../../kit/header-fields.ts';
import {
  checked,
  clockOption,
  hasMethods,
  headersOption,
  parseStrictly,
} from '../../errors/option-problems.ts';
import { positiveDurationOption } from '../options.ts';
import type { Tool } from './define-tool.ts';

/** Options of `toolMiddleware`. */
export interface ToolMiddlewareOptions {
  /**
   * The headers that each call must have, as in the tool's registration. At least one: a tool's answers are about
   * callers' affairs, and its address is no secret.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** How long a call may take, including reading the arguments. The caller waits meanwhile. @default '10s' */
  readonly timeout?: Duration | undefined;
  /** Gets one line for each call, without its arguments or its result. @default none */
  readonly logger?: Logger | undefined;
  /** Time, for tests. @default the machine's */
  readonly clock?: Clock | undefined;
}

export type ToolMiddlewareParts = Readonly<ReturnType<typeof resolveToolMiddleware>>;

const optionsSchema = z.strictObject({
  headers: headersOption.refine(
    (headers) => hasOwnHeader(Object.keys(headers)),
    'an object with at least one header that other senders do not send, because a tool answers only the platform',
  ),
  timeout: positiveDurationOption.default(10_000),
  logger: checked('a pino instance', (value) =>
    hasMethods(value, ['info', 'warn']) ? (value as Logger) : undefined,
  ).optional(),
  clock: clockOption,
});

const toolsSchema = z
  .array(
    checked('made with defineTool', (value) =>
      hasMethods(value, ['registration', 'call']) ? (value as Tool) : undefined,
    ),
    'a list of tools',
  )
  .min(1, 'a list of one or more tools')
  .superRefine((tools, context) => {
    for (const [index, { name }] of tools.entries()) {
      if (tools.findIndex((tool) => tool.name === name) === index) continue;
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: 'a unique name, because another tool already has this one',
      });
    }
  });

/**
 * Checks the arguments of `toolMiddleware` and fills in the defaults.
 *
 * @throws ConfigError that names the option; the values of headers are in no message
 */
export function resolveToolMiddleware(tools: unknown, options: ToolMiddlewareOptions) {
  const parsed = parseStrictly(z.object({ tools: toolsSchema }), { tools }, 'toolMiddleware');
  const { headers, ...rest } = parseStrictly(optionsSchema, options, 'toolMiddleware');
  return {
    ...rest,
    tools: new Map(parsed.tools.map((tool) => [tool.name, tool])),
    headers: new RequiredHeaders(Object.entries(headers)),
  };
}
