/**
 * The public names of `ringback/sandbox`.
 *
 * @module ringback/sandbox
 */
import '../errors/unbundled.ts';
export { createSandbox } from './sandbox.ts';
export type { Deliveries, Sandbox } from './sandbox.ts';
export type { FailureOptions } from './failures.ts';
export type { EmbeddingService } from './knowledge/embedding/openai-embedder.ts';
export type { SandboxOptions } from './options.ts';
export type { PromptGenerator, PromptRequest } from './api/prompts.ts';
export type { Seed } from './seed.ts';
export type { CallPlan } from './calls/call-plan.ts';
export type { PlayedAnalysis, PlayedCall, PlayedEvent, PlayedTransfer, Scenario } from './calls/call.ts';
export type { CallSimulator } from './calls/simulator.ts';
export type { TrafficOptions } from './calls/simulator.ts';
export type { AdversaryOptions, Disturbance } from './delivery/adversary.ts';
export type { AttemptListener, AttemptQuery, Attempts } from './delivery/attempts.ts';
export type { GivenUpDelivery } from './delivery/outbox.ts';
export type { Attempt } from './model.ts';
export type { ToolRun } from './custom-tools/tool-caller.ts';
