import { lowerCased } from '../../kit/header-fields.ts';

/** The fields of a custom tool that a call needs (platform document, CustomTool). */
export interface CallableTool {
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
export function toolRequestOf(tool: CallableTool, args: Readonly<Record<string, unknown>>): ToolRequest {
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
