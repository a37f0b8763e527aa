import { ringbackError } from '../../errors/errors.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { causeIn, messageOf } from '../../kit/error-text.ts';
import { jsonOrText, readBounded } from '../../kit/http-bodies.ts';
import type { Tenants } from '../tenants.ts';
import type { CustomTools } from './custom-tools.ts';
import { lowerCased } from '../../kit/header-fields.ts';

interface ToolCall {
  readonly agentId: string;
  readonly toolId: string;
  readonly args: Readonly<Record<string, unknown>>;
}

interface ToolCallerParts {
  readonly tenants: Tenants;
  readonly customTools: CustomTools;
  /** The real clock: the latency of an endpoint doesn't depend on the speed of the calls. */
  readonly clock: Clock;
  readonly stopping: AbortSignal;
}

/** Calls the custom tools that agents have registered. @internal */
export class ToolCaller {
  readonly #parts: ToolCallerParts;

  constructor(parts: ToolCallerParts) {
    this.#parts = parts;
  }

  /** Calls a tool of any organization, or of the given one. @throws RingbackError `tool_unregistered` */
  async call({ agentId, toolId, args }: ToolCall, organizationId?: string): Promise<ToolRun> {
    const { tenants, customTools, clock, stopping } = this.#parts;
    const agent = tenants.findAgent(agentId);
    const owner = { organizationId: organizationId ?? agent?.organizationId ?? '', agentId };
    const tool = agent?.organizationId === owner.organizationId ? customTools.find(owner, toolId) : undefined;
    if (!tool) throw ringbackError('tool_unregistered', { agentId, toolId });
    return runTool(tool, args, { signal: stopping, clock });
  }
}

interface RunToolOptions {
  /** Aborts the call. @default none */
  readonly signal?: AbortSignal;
  /** The timeout of the answer, in milliseconds. The document doesn't show the platform's. @default 10000 */
  readonly timeoutMs?: number;
  /** The clock that measures the latency. @default the machine's */
  readonly clock?: Clock;
}

/** The answer to a call of a tool, or why there was none. */
export interface ToolRun {
  /** The answer's status; undefined when no answer came. */
  readonly status: number | undefined;
  /** The answer's JSON, or its text when it is not JSON; undefined when no answer came. */
  readonly body: unknown;
  /** From the request to the end of the answer or the failure, in milliseconds. */
  readonly latencyMs: number;
  /** Why no answer came: `timeout`, `aborted`, `too_large`, or the connection's error, such as `ECONNREFUSED`. */
  readonly failure: string | undefined;
}

/** The largest answer, in bytes: an endless one must not fill the memory. */
const maxBytes = 1024 * 1024;

class TooLarge extends Error {}

/**
 * Calls the endpoint of a registered custom tool as the platform would: with its method, its headers, and the model's
 * arguments merged with the fixed parameters. Redirects are not followed, because the headers are credentials. Never
 * rejects: a call without an answer has a `failure`.
 *
 * @example
 * const run = await runTool(tool, { order_number: '4711' }, { timeoutMs: 5_000 });
 * // { status: 200, body: { status: 'sent' }, latencyMs: 12, failure: undefined }
 */
export async function runTool(
  tool: CallableTool,
  args: Readonly<Record<string, unknown>>,
  { signal, timeoutMs = 10_000, clock = systemClock }: RunToolOptions = {},
): Promise<ToolRun> {
  const startedAt = clock.elapsed();
  const ending = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
  const answer = await answered(tool, args, ending).catch((error: unknown) => ({
    status: undefined,
    body: undefined,
    failure: failureOf(error, ending),
  }));
  return { ...answer, latencyMs: Math.round(clock.elapsed() - startedAt) };
}

async function answered(
  tool: CallableTool,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Omit<ToolRun, 'latencyMs'>> {
  const { url, method, headers, body } = toolRequestOf(tool, args);
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    signal,
    ...(body !== undefined && { body }),
  });
  return { status: response.status, body: jsonOrText(await textOf(response)), failure: undefined };
}

async function textOf(response: Response): Promise<string> {
  const bytes = await readBounded(response.body, maxBytes);
  if (!bytes) throw new TooLarge();
  return bytes.toString();
}

/** The error of `fetch` has the reason in its cause. */
function failureOf(error: unknown, { aborted, reason }: AbortSignal): string {
  if (error instanceof TooLarge) return 'too_large';
  if (aborted)
    return reason instanceof DOMException && reason.name === 'TimeoutError' ? 'timeout' : 'aborted';
  const cause = causeIn(error);
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : messageOf(cause ?? error);
}

/** The fields of a custom tool that a call needs (platform document, CustomTool). */
interface CallableTool {
  readonly additional_tool_info: {
    readonly api: {
      readonly endpoint: string;
      readonly method: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly parameters?:
        | { readonly fixed_params?: Readonly<Record<string, { readonly value: string }>> | undefined }
        | undefined;
    };
  };
}

interface ToolRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const withoutBody: ReadonlySet<string> = new Set(['GET', 'DELETE', 'HEAD']);

/**
 * The request that the platform sends when a model calls a tool: a flat object of the model's arguments, without
 * envelope or signature (docs/sandbox.md). Two choices are the sandbox's own, because the document doesn't show them:
 * fixed parameters replace the model's arguments of the same name, since "the value is sent with every call"; and GET
 * and DELETE send everything in the query, where a list becomes a repeated parameter and an object is JSON.
 */
function toolRequestOf(tool: CallableTool, args: Readonly<Record<string, unknown>>): ToolRequest {
  const { endpoint, headers = {}, parameters, ...api } = tool.additional_tool_info.api;
  const method = api.method.toUpperCase();
  const fixed = Object.entries(parameters?.fixed_params ?? {}).map(
    ([name, { value }]) => [name, value] as const,
  );
  const merged = { ...args, ...Object.fromEntries(fixed) };
  if (withoutBody.has(method)) return { url: withQuery(endpoint, merged), method, headers, body: undefined };
  return {
    url: endpoint,
    method,
    headers: { 'content-type': 'application/json', ...lowerCased(headers) },
    body: JSON.stringify(merged),
  };
}

function withQuery(endpoint: string, args: Readonly<Record<string, unknown>>): string {
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(args)) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of values)
      url.searchParams.append(name, typeof one === 'string' ? one : JSON.stringify(one));
  }
  return url.href;
}
