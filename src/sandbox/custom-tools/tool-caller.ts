import { ringbackError } from '../../errors/errors.ts';
import { withDeadline } from '../../kit/aborting.ts';
import type { Clock } from '../../kit/clock.ts';
import { causeIn, codeOf, messageOf } from '../../kit/error-text.ts';
import { lowerCased } from '../../kit/header-fields.ts';
import { jsonOrText, readBounded } from '../../kit/http-bodies.ts';
import { defined } from '../../kit/values.ts';
import type { Tenants } from '../tenants.ts';
import type { CustomTool, CustomTools } from './custom-tools.ts';

type Arguments = Readonly<Record<string, unknown>>;

interface ToolCall {
  readonly agentId: string;
  readonly toolId: string;
  readonly args: Arguments;
}

interface ToolCallerParts {
  readonly tenants: Tenants;
  readonly customTools: CustomTools;
  /** The real clock: the latency of an endpoint doesn't depend on the speed of the calls. */
  readonly clock: Clock;
  readonly stopping: AbortSignal;
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

/** How long an answer may take, in milliseconds. The document doesn't show the platform's timeout. */
const timeout = 10_000;
/** The largest answer, in bytes: an endless one must not fill the memory. */
const maxBytes = 1024 * 1024;

class TooLarge extends Error {}

/** Calls the custom tools that agents have registered, as the platform would. @internal */
export class ToolCaller {
  readonly #parts: ToolCallerParts;

  constructor(parts: ToolCallerParts) {
    this.#parts = parts;
  }

  /** Calls a tool of any organization, or of the given one. @throws RingbackError `tool_unregistered` */
  async call({ agentId, toolId, args }: ToolCall, organizationId?: string): Promise<ToolRun> {
    const { tenants, customTools } = this.#parts;
    const owner = organizationId ?? tenants.findAgent(agentId)?.organizationId ?? '';
    const tool = customTools.find({ organizationId: owner, agentId }, toolId);
    if (!tool) throw ringbackError('tool_unregistered', { agentId, toolId });
    return this.#run(tool, args);
  }

  /** Never rejects: a call without an answer has a `failure`. */
  async #run(tool: CustomTool, args: Arguments): Promise<ToolRun> {
    const { clock, stopping } = this.#parts;
    const startedAt = clock.elapsed();
    const answer = await withDeadline(clock, timeout, [stopping], ({ signal }) =>
      answerOf(tool, args, signal).catch((error: unknown) => {
        const aborted = stopping.aborted ? 'aborted' : 'timeout';
        return { status: undefined, body: undefined, failure: signal.aborted ? aborted : failureIn(error) };
      }),
    );
    return { ...answer, latencyMs: Math.round(clock.elapsed() - startedAt) };
  }
}

/** Redirects are not followed, because the headers are credentials. */
async function answerOf(
  tool: CustomTool,
  args: Arguments,
  signal: AbortSignal,
): Promise<Omit<ToolRun, 'latencyMs'>> {
  const { url, ...request } = toolRequestOf(tool, args);
  const response = await fetch(url, { ...request, redirect: 'manual', signal });
  const bytes = await readBounded(response.body, maxBytes);
  if (!bytes) throw new TooLarge();
  return { status: response.status, body: jsonOrText(bytes.toString()), failure: undefined };
}

/** The error of `fetch` has the reason in its cause. */
function failureIn(error: unknown): string {
  if (error instanceof TooLarge) return 'too_large';
  const cause = causeIn(error);
  return codeOf(cause) || messageOf(cause ?? error);
}

interface ToolRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * The request that the platform sends when a model calls a tool: a flat object of the model's arguments, without
 * envelope or signature (docs/sandbox.md). Two choices are the sandbox's own, because the document doesn't show them:
 * fixed parameters replace the model's arguments of the same name, since "the value is sent with every call"; and GET
 * and DELETE send everything in the query, where a list becomes a repeated parameter and an object is JSON.
 */
function toolRequestOf(tool: CustomTool, args: Arguments): ToolRequest {
  const { endpoint, method, headers = {}, parameters } = tool.additional_tool_info.api;
  const fixed = Object.entries(parameters?.fixed_params ?? {}).map(
    ([name, { value }]) => [name, value] as const,
  );
  // As in JSON, an argument that is undefined is not sent: a query would have it as text.
  const merged = defined({ ...args, ...Object.fromEntries(fixed) });
  if (method === 'GET' || method === 'DELETE') return { url: withQuery(endpoint, merged), method, headers };
  return {
    url: endpoint,
    method,
    headers: { 'content-type': 'application/json', ...lowerCased(headers) },
    body: JSON.stringify(merged),
  };
}

function withQuery(endpoint: string, args: Arguments): string {
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(args)) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of values)
      url.searchParams.append(name, typeof one === 'string' ? one : JSON.stringify(one));
  }
  return url.href;
}
