import { z } from 'zod';
import { parseStrictly } from '../../errors/option-problems.ts';
import {
  type CallOptions,
  type PageOptions,
  readCallOptions,
  readPageOptions,
} from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import {
  type CustomTool,
  type EnsuredCustomTool,
  type NewCustomTool,
  changedTool,
  credentialsIn,
  customToolShape,
  isSameTool,
  newToolSchema,
} from './custom-tool.ts';
import { ensureOne } from '../requests/ensure-one.ts';
import { everyItem, pageToken } from '../requests/pages.ts';
import { pathPart } from '../requests/address.ts';
import type { PlatformRequest } from '../requests/request.ts';
import { listOf } from '../requests/shapes.ts';

const listShape = z.looseObject({ tools: listOf(customToolShape), next_page_token: pageToken });

const ifCreatedInDoubt = 'Check with customTools.list before you create it again, or use customTools.ensure.';

/** Tools that agents call. `defineTool` defines a tool's registration and its work in one place. */
export class CustomTools {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Creates a tool for an agent (platform document, POST custom tools). In a program that runs repeatedly, use
   * `ensure`.
   *
   * @throws ConfigError for a tool that isn't in the document's form; PlatformError, for example 422 when its id is taken
   * @example
   * await platform.customTools.create('agent_1', findOrder.registration({ endpoint:
   * 'https://calls.example.com/tools/find_order' }));
   */
  async create(agentId: string, tool: NewCustomTool, options: CallOptions = {}): Promise<CustomTool> {
    const operation = 'customTools.create';
    const path = collection(agentId, operation);
    return this.#create(operation, path, readTool(tool, operation), readCallOptions(options, operation));
  }

  /** Lists all tools of an agent, fetching pages as you iterate. Not in the platform's document: seen in use. */
  list(agentId: string, options: PageOptions = {}): AsyncGenerator<CustomTool, void, undefined> {
    const operation = 'customTools.list';
    const { pageSize, signal } = readPageOptions(options, operation);
    return this.#list(operation, agentId, pageSize, signal);
  }

  /** One tool. Not in the platform's document: seen in use. @throws PlatformError 404 when there is none */
  async get(agentId: string, toolId: string, options: CallOptions = {}): Promise<CustomTool> {
    const operation = 'customTools.get';
    const { signal } = readCallOptions(options, operation);
    return this.#get(operation, agentId, toolId, signal);
  }

  /**
   * Replaces a whole tool. Not in the platform's document: seen in use. That the PUT replaces everything is assumed, as
   * it does for subscriptions.
   */
  async update(
    agentId: string,
    toolId: string,
    tool: NewCustomTool,
    options: CallOptions = {},
  ): Promise<CustomTool> {
    const operation = 'customTools.update';
    const path = member(agentId, toolId, operation);
    const body = readTool(tool, operation);
    const { signal } = readCallOptions(options, operation);
    return this.#write({ operation, method: 'PUT', path, body, signal });
  }

  /** Deletes a tool. Not in the platform's document: seen in use. @throws PlatformError 404 when there is none */
  async delete(agentId: string, toolId: string, options: CallOptions = {}): Promise<void> {
    const operation = 'customTools.delete';
    const { signal } = readCallOptions(options, operation);
    const path = member(agentId, toolId, operation);
    await this.#connection.sendForNothing({ operation, method: 'DELETE', path, signal });
  }

  /**
   * Creates the tool, or changes what differs about it, or does nothing. It is identified by its `tool_id`, and without
   * one by the name of its function. If it is called again, there is still only one tool; with a `tool_id`, also if it
   * is called twice at once. Fields that are left out, such as a message, keep their values; parameters and headers are
   * replaced as a whole. Only its creation is in the platform's document: the rest was seen in use.
   *
   * @throws as `create` does; RingbackError `update_unsafe` when it would send masked credentials back
   * @example
   * const { outcome } = await platform.customTools.ensure(
   *   'agent_1',
   *   findOrder.registration({ endpoint: 'https://calls.example.com/tools/find_order' }),
   * );
   */
  async ensure(agentId: string, tool: NewCustomTool, options: CallOptions = {}): Promise<EnsuredCustomTool> {
    const operation = 'customTools.ensure';
    const wanted = readTool(tool, operation);
    const { signal } = readCallOptions(options, operation);
    const path = collection(agentId, operation);
    return ensureOne<CustomTool, EnsuredCustomTool>({
      list: () => this.#list(operation, agentId, 100, signal),
      matches: (listed) => isSameTool(listed, wanted),
      create: async () => ({
        tool: await this.#create(operation, path, wanted, { signal }),
        outcome: 'created',
      }),
      bringUp: async ({ tool_id: id }) => {
        const current = await this.#get(operation, agentId, id, signal);
        const body = changedTool(current, wanted);
        if (body === undefined) return { tool: current, outcome: 'unchanged' };
        const request = { operation, path: member(agentId, id, operation), body, signal };
        return { tool: await this.#write({ ...request, method: 'PUT' }), outcome: 'updated' };
      },
    });
  }

  #create(
    operation: string,
    path: string,
    body: NewCustomTool,
    { signal }: CallOptions,
  ): Promise<CustomTool> {
    return this.#write({ operation, method: 'POST', path, body, signal, ifInDoubt: ifCreatedInDoubt });
  }

  #write(request: PlatformRequest): Promise<CustomTool> {
    return this.#connection.send({ ...request, confidential: credentialsIn(request.body) }, customToolShape);
  }

  #list(operation: string, agentId: string, pageSize: number, signal: AbortSignal | undefined) {
    const listing = { operation, path: collection(agentId, operation), pageSize, signal };
    return everyItem(this.#connection, listing, listShape, ({ tools }) => tools);
  }

  #get(
    operation: string,
    agentId: string,
    toolId: string,
    signal: AbortSignal | undefined,
  ): Promise<CustomTool> {
    const path = member(agentId, toolId, operation);
    return this.#connection.send({ operation, method: 'GET', path, signal }, customToolShape);
  }
}

/** @throws ConfigError, without values of headers */
function readTool(tool: NewCustomTool, operation: string): NewCustomTool {
  return parseStrictly(newToolSchema, tool, operation, 'tool') as NewCustomTool;
}

/** The path of an agent's tools, with a trailing slash as in the platform's document. */
function collection(agentId: string, operation: string): string {
  return `/v2/ai-agents/${pathPart(agentId, 'agentId', operation)}/custom-tools/`;
}

function member(agentId: string, toolId: string, operation: string): string {
  return collection(agentId, operation) + pathPart(toolId, 'toolId', operation);
}
