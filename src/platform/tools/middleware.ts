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
import type { IncomingMessage, ServerResponse } from 'node:http';
import { unlessAborted, withDeadline } from '../../kit/aborting.ts';
import { BoundedLines } from '../../kit/bounded-lines.ts';
import { closeAfterLingering } from '../../kit/http-bodies.ts';
import { locationThrownAt } from '../../kit/error-location.ts';
import { classOf } from '../../kit/error-text.ts';
import type { Tool } from './define-tool.ts';
import { readArguments } from './read-arguments.ts';
import {
  type ToolAnswer,
  ToolError,
  ToolRefusal,
  refusalAnswer,
  resultAnswer,
  spokenAnswer,
} from './tool-error.ts';

/** A middleware for Express 4 and 5, and a listener for `node:http`. It answers every request that reaches it. */
export type ToolMiddleware = (request: IncomingMessage, response: ServerResponse, next?: unknown) => void;

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** A request in Express, which strips the mount path from `url`, but not from `originalUrl`. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: string;
}

/**
 * Answers the platform's calls of the tools. With several tools, the last segment of the path is the tool's name. A
 * call must have the headers; its arguments (the JSON body, or the query of GET and DELETE) are read leniently. A
 * result is answered with 200, and so is a `ToolError`, which the agent may speak about, as `{ "error": "one sentence"
 * }`. Any other error is answered with 500, and a timeout with 504.
 *
 * @throws ConfigError for invalid options, no tools, or two tools with one name
 * @example
 * app.use('/tools', toolMiddleware([findOrder], { headers: { 'x-tool-key': process.env.TOOL_KEY ?? '' } }));
 */
export function toolMiddleware(tools: readonly Tool[], options: ToolMiddlewareOptions): ToolMiddleware {
  const parts = resolveToolMiddleware(tools, options);
  return (request, response) => {
    void answerCall(request, response, parts)
      // Inspecting a thrown value or logging may throw, which would end the process if uncaught.
      .catch(() => refusalAnswer('failed'))
      .then((answer) => write(request, response, answer));
  };
}

async function answerCall(
  request: MountedRequest,
  response: ServerResponse,
  parts: ToolMiddlewareParts,
): Promise<ToolAnswer> {
  const startedAt = parts.clock.elapsed();
  const tool = toolOf(request, parts);
  const duration = () => ({ durationMs: Math.round(parts.clock.elapsed() - startedAt) });
  const log = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, string | undefined>>) =>
    parts.logger?.[level]({ event, ...fields, ...duration() }, event.replace('_', ' '));
  if (tool instanceof ToolRefusal) {
    const { code } = tool;
    parts.refusals.add(code, { code }, duration());
    return refusalAnswer(code);
  }
  try {
    const answer = resultAnswer(await called(tool, request, response, parts));
    log('info', 'tool_called', { tool: tool.name });
    return answer;
  } catch (error) {
    if (error instanceof ToolError) {
      log('info', 'tool_declined', { tool: tool.name });
      return spokenAnswer(error.message);
    }
    const code = codeOf(error);
    log('warn', 'tool_failed', {
      tool: tool.name,
      code,
      cause: classOf(error),
      location: locationThrownAt(error),
    });
    return refusalAnswer(code);
  }
}

/** Checks the headers first, so that unauthenticated callers learn neither which tools exist nor how to call them. */
function toolOf(request: MountedRequest, { headers, tools }: ToolMiddlewareParts): Tool | ToolRefusal {
  if (headers.firstWrongIn(request.headers) !== undefined) return new ToolRefusal('not_authentic');
  const [first, ...others] = tools.values();
  const tool = others.length === 0 ? first : tools.get(lastPart(request.originalUrl ?? request.url ?? ''));
  if (tool === undefined) return new ToolRefusal('unknown_tool');
  return methods.includes(request.method ?? '') ? tool : new ToolRefusal('method');
}

/** The tool's result. What it does or throws after the deadline, or after the caller has left, is ignored. */
function called(
  tool: Tool,
  request: IncomingMessage,
  response: ServerResponse,
  { clock, timeout }: ToolMiddlewareParts,
): Promise<unknown> {
  const work = (stop: AbortController): Promise<unknown> => {
    const { signal } = stop;
    const breakOff = () => stop.abort(new ToolRefusal('broken_off'));
    response.once('close', () => {
      // A complete answer is closed as well, but the tool may still be working with its signal.
      if (!response.writableEnded) breakOff();
    });
    // The caller has left while an earlier middleware was working: the event has passed.
    if (response.destroyed) breakOff();
    return unlessAborted(signal, async () => {
      const args = await readArguments(request);
      // A body that comes after the caller was told of a failure must not make the tool act.
      signal.throwIfAborted();
      return tool.call(args, { signal });
    });
  };
  return withDeadline(clock, timeout, [], work, () => new DeadlineExceeded());
}

/** Not decoded: tool names consist of characters that paths don't encode. */
function lastPart(url: string): string {
  const path = url.split('?', 1)[0] ?? '';
  return path.split('/').findLast((part) => part !== '') ?? '';
}

function codeOf(error: unknown) {
  if (error instanceof ToolRefusal) return error.code;
  return error instanceof DeadlineExceeded ? 'deadline' : 'failed';
}

function write(request: IncomingMessage, response: ServerResponse, { status, body }: ToolAnswer): void {
  // The caller has closed the connection, or the app has answered already.
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  if (status === 405) response.setHeader('allow', methods.join(', '));
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(body);
  closeAfterLingering(request);
}

class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** Options of `toolMiddleware`. */
export interface ToolMiddlewareOptions {
  /**
   * The headers that each call must have, as in the tool's registration. At least one: a tool's answers are about
   * callers' affairs, and its address is no secret.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** How long a call may take, including reading the arguments. The caller waits meanwhile. @default '10s' */
  readonly timeout?: Duration | undefined;
  /** Gets a line for each call, without its arguments or its result; a few a second for refused ones. @default none */
  readonly logger?: Logger | undefined;
  /** Time, for tests. @default the machine's */
  readonly clock?: Clock | undefined;
}

type ToolMiddlewareParts = Readonly<ReturnType<typeof resolveToolMiddleware>>;

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

/** @throws ConfigError that names the option; the values of headers are in no message */
function resolveToolMiddleware(tools: unknown, options: ToolMiddlewareOptions) {
  const parsed = parseStrictly(z.object({ tools: toolsSchema }), { tools }, 'toolMiddleware');
  const { headers, ...rest } = parseStrictly(optionsSchema, options, 'toolMiddleware');
  const { clock, logger } = rest;
  return {
    ...rest,
    refusals: new BoundedLines(clock, (fields) => {
      try {
        logger?.warn({ event: 'tool_refused', ...fields }, 'tool refused');
      } catch {
        // Thrown from a timer, it would end the process.
      }
    }),
    tools: new Map(parsed.tools.map((tool) => [tool.name, tool])),
    headers: new RequiredHeaders(Object.entries(headers)),
  };
}
