import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { type CustomTools, type ToolOwner, customToolSchema } from '../custom-tools/custom-tools.ts';
import type { Tenants } from '../tenants.ts';
import { pageIn, tokenAfter, validated } from './request.ts';
import { type ApiAnswer, ApiError, type ApiRequest, type Route, invalidRequest, routesOf } from './route.ts';

/** What the operations on custom tools work with. */
export interface CustomToolParts {
  readonly customTools: CustomTools;
  readonly tenants: Tenants;
  readonly clock: Clock;
}

const path = '/v2/ai-agents/:ai_agent_id/custom-tools';

/** Operations on custom tools: the platform's document has create; the others were seen in use (docs/sandbox.md). */
export function customToolRoutes(parts: CustomToolParts): readonly Route[] {
  const operations = new Operations(parts);
  const route = routesOf('custom-tools', 'general');
  return [
    route('create', 'POST', path, (request) => operations.create(request)),
    route('list', 'GET', path, (request) => operations.list(request)),
    route('get', 'GET', `${path}/:tool_id`, (request) => operations.get(request)),
    route('update', 'PUT', `${path}/:tool_id`, (request) => operations.update(request)),
    route('delete', 'DELETE', `${path}/:tool_id`, (request) => operations.delete(request)),
  ];
}

class Operations {
  readonly #parts: CustomToolParts;

  constructor(parts: CustomToolParts) {
    this.#parts = parts;
  }

  create(request: ApiRequest): ApiAnswer {
    const { customTools, clock } = this.#parts;
    const owner = this.#ownerOf(request);
    const fields = validated(customToolSchema, request.body, 'body');
    const toolId = fields.tool_id ?? `tool_${randomUUID()}`;
    const tool = customTools.create(owner, toolId, fields, clock.now());
    if (!tool) throw wrongToolId('Should be unique: another tool of the agent has this id', 'unique');
    return { status: 201, body: tool };
  }

  list(request: ApiRequest): ApiAnswer {
    const owner = this.#ownerOf(request);
    const { size, after } = pageIn(request.query);
    const { tools, next } = this.#parts.customTools.list(owner, after, size);
    return { status: 200, body: { tools, next_page_token: tokenAfter(next) } };
  }

  get(request: ApiRequest): ApiAnswer {
    const tool = this.#parts.customTools.find(this.#ownerOf(request), toolIdOf(request));
    if (!tool) throw missingTool();
    return { status: 200, body: tool };
  }

  /** PUT replaces everything, as it does for subscriptions: a choice of the sandbox. */
  update(request: ApiRequest): ApiAnswer {
    const { customTools, clock } = this.#parts;
    const owner = this.#ownerOf(request);
    const toolId = toolIdOf(request);
    const fields = validated(customToolSchema, request.body, 'body');
    if ((fields.tool_id ?? toolId) !== toolId) throw wrongToolId('Should be the id in the path', 'mismatch');
    const tool = customTools.replace(owner, toolId, fields, clock.now());
    if (!tool) throw missingTool();
    return { status: 200, body: tool };
  }

  delete(request: ApiRequest): ApiAnswer {
    const isDeleted = this.#parts.customTools.delete(this.#ownerOf(request), toolIdOf(request));
    if (!isDeleted) throw missingTool();
    return { status: 204 };
  }

  /** Another organization's agent is answered like an unknown one, so that nobody learns which ids exist. */
  #ownerOf({ caller, params }: ApiRequest): ToolOwner {
    const agent = this.#parts.tenants.agent(caller.organizationId, params['ai_agent_id'] ?? '');
    if (!agent) throw new ApiError('not_found', 'AI agent not found');
    return { organizationId: agent.organizationId, agentId: agent.id };
  }
}

function toolIdOf({ params }: ApiRequest): string {
  return params['tool_id'] ?? '';
}

function missingTool(): ApiError {
  return new ApiError('not_found', 'Custom tool not found');
}

function wrongToolId(msg: string, type: string): ApiError {
  return invalidRequest({ loc: ['body', 'tool_id'], msg, type });
}
