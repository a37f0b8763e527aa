import { ringbackError } from '../errors.ts';
import type { Clock } from '../kit/clock.ts';
import type { CustomTools } from './custom-tools/custom-tools.ts';
import type { Agent } from './model.ts';
import type { Tenants } from './tenants.ts';
import { type ToolRun, runTool } from './tools/run-tool.ts';

/** Which tool is called, and the arguments that the model gives. */
export interface ToolCall {
  readonly agentId: string;
  readonly toolId: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What tools are called with. */
export interface ToolCallerParts {
  readonly tenants: Tenants;
  readonly customTools: CustomTools;
  /** The real clock: the latency of an endpoint doesn't depend on the speed of the calls. */
  readonly clock: Clock;
  /** Aborted when the sandbox stops. */
  readonly stopping: AbortSignal;
}

/** Calls the custom tools that agents have registered. */
export class ToolCaller {
  readonly #parts: ToolCallerParts;

  constructor(parts: ToolCallerParts) {
    this.#parts = parts;
  }

  /**
   * Calls a tool of any organization, or of the given one.
   *
   * @throws RingbackError `tool_unregistered`
   */
  async call({ agentId, toolId, args }: ToolCall, organizationId?: string): Promise<ToolRun> {
    const { tenants, customTools, clock, stopping } = this.#parts;
    const agent = tenants.findAgent(agentId);
    const tool = agent && isOf(agent, organizationId) ? customTools.find(ownerOf(agent), toolId) : undefined;
    if (!tool) throw ringbackError('tool_unregistered', { agentId, toolId });
    return runTool(tool, args, { signal: stopping, clock });
  }
}

function isOf(agent: Agent, organizationId: string | undefined): boolean {
  return organizationId === undefined || agent.organizationId === organizationId;
}

function ownerOf({ id: agentId, organizationId }: Agent) {
  return { organizationId, agentId };
}
