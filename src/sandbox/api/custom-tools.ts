import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { type CustomTools, type ToolOwner, customToolSchema } from '../custom-tools/custom-tools.ts';
import type { Tenants } from '../tenants.ts';
import { pageIn, tokenAfter, validated } from './request.ts';
import { ApiError, type ApiRequest, type Route, invalidRequest, routesOf } from './route.ts';

interface CustomToolParts {
  readonly customTools: CustomTools;
  readonly tenants: Tenants;
  readonly clock: Clock;
}

const path = '/v2/ai-agents/:ai_agent_id/custom-tools';

/** Operations on custom tools: create is in the platform's document, the others were seen in use (docs/sandbox.md). */
export function customToolRoutes({ customTools, tenants, clock }: CustomToolParts): readonly Route[] {
  const route = routesOf('custom-tools', 'general');
  /** Another organization's agent is answered like an unknown one, so that nobody learns which ids exist. */
  const ownerOf = ({ caller, params }: ApiRequest): ToolOwner => {
    const agent = tenants.agent(caller.organizationId, params['ai_agent_id'] ?? '');
    if (!agent) throw new ApiError('not_found', 'AI agent not found');
    return { organizationId: agent.organizationId, agentId: agent.id };
  };
  return [
    route('create', 'POST', path, (request) => {
      const owner = ownerOf(request);
      const fields = validated(customToolSchema, request.body, 'body');
      const toolId = fields.tool_id ?? `tool_${randomUUID()}`;
      const tool = customTools.create(owner, toolId, fields, clock.now());
      if (!tool) throw wrongToolId('Should be unique: another tool of the agent has this id', 'unique');
      return { status: 201, body: tool };
    }),
    route('list', 'GET', path, (request) => {
      const owner = ownerOf(request);
      const { size, after } = pageIn(request.query);
      const { items, next } = customTools.list(owner, after, size);
      return { status: 200, body: { tools: items, next_page_token: tokenAfter(next) } };
    }),
    route('get', 'GET', `${path}/:tool_id`, (request) => {
      const tool = customTools.find(ownerOf(request), toolIdOf(request));
      if (!tool) throw missingTool();
      return { status: 200, body: tool };
    }),
    // PUT replaces everything, as for subscriptions: the sandbox's choice.
    route('update', 'PUT', `${path}/:tool_id`, (request) => {
      const owner = ownerOf(request);
      const toolId = toolIdOf(request);
      const fields = validated(customToolSchema, request.body, 'body');
      if ((fields.tool_id ?? toolId) !== toolId)
        throw wrongToolId('Should be the id in the path', 'mismatch');
      const tool = customTools.replace(owner, toolId, fields, clock.now());
      if (!tool) throw missingTool();
      return { status: 200, body: tool };
    }),
    route('delete', 'DELETE', `${path}/:tool_id`, (request) => {
      if (!customTools.delete(ownerOf(request), toolIdOf(request))) throw missingTool();
      return { status: 204 };
    }),
  ];
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
