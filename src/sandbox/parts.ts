import { callRoutes } from './api/calls.ts';
import { type ControlParts, controlRoutes } from './api/control.ts';
import { customToolRoutes } from './api/custom-tools.ts';
import { knowledgeBaseRoutes } from './api/knowledge-bases.ts';
import { promptRoutes } from './api/prompts.ts';
import type { Route } from './api/route.ts';
import { ApiServer } from './api/server.ts';
import { subscriptionRoutes } from './api/subscriptions.ts';
import { websiteRoutes } from './api/websites.ts';
import { PlayedCalls } from './calls/played-calls.ts';
import { CallSimulator } from './calls/simulator.ts';
import { CustomTools } from './custom-tools/custom-tools.ts';
import { Database } from './database.ts';
import { Adversary } from './delivery/adversary.ts';
import { Attempts } from './delivery/attempts.ts';
import { DeliveryEngine } from './delivery/engine.ts';
import { Outbox } from './delivery/outbox.ts';
import { GatheredWrites } from './delivery/gathered-writes.ts';
import { Failures } from './failures.ts';
import { Keys, newKey } from './keys.ts';
import { KnowledgeBases } from './knowledge-bases/knowledge-bases.ts';
import type { ResolvedSandboxOptions } from './options.ts';
import { SandboxClock } from './sandbox-clock.ts';
import { demonstrationSeed } from './seed.ts';
import { type SeededParts, fillFromSeed } from './seeding.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';
import { Tenants } from './tenants.ts';
import { ToolCaller } from './tool-caller.ts';

/** What the parts need from the sandbox that they belong to. */
export interface Surroundings {
  /** Aborted when the sandbox stops. */
  readonly stopping: AbortSignal;
  /** @throws RingbackError unless the sandbox runs */
  readonly requireStarted: (method: string) => void;
}

/** The parts of a sandbox, put together. */
export type Parts = ReturnType<typeof buildParts>;

/**
 * Opens the database, fills it when it is new, and puts the parts together.
 *
 * @throws RingbackError `database_unreadable`, `database_newer`, `node_too_old`
 */
export function buildParts(options: ResolvedSandboxOptions, { stopping, requireStarted }: Surroundings) {
  const database = new Database(options.database);
  const { layout, logger, callSeed } = options;
  const clock = new SandboxClock(options.clock, options.speed);
  const tenants = new Tenants(database);
  const keys = new Keys(database);
  const knowledgeBases = new KnowledgeBases(database);
  const customTools = new CustomTools(database);
  const subscriptions = new Subscriptions(database);
  const writes = new GatheredWrites(database.connection, clock.real);
  const attempts = new Attempts(database, writes);
  const outbox = new Outbox(database, writes);
  const played = new PlayedCalls(database, writes);
  const adversary = options.adversary && new Adversary(options.adversary);
  const engine = new DeliveryEngine({
    clock,
    subscriptions,
    outbox,
    attempts,
    writes,
    layout,
    adversary,
    logger,
  });
  const calls = new CallSimulator({
    clock,
    seed: callSeed,
    tenants,
    played,
    engine,
    requireStarted,
    stopping,
  });
  const toolCaller = new ToolCaller({ tenants, customTools, clock: clock.real, stopping });
  const operations: readonly Route[] = [
    ...websiteRoutes({ parameter: options.websiteParameter, clock: clock.real }),
    ...knowledgeBaseRoutes(knowledgeBases),
    ...customToolRoutes({ customTools, tenants, clock }),
    ...promptRoutes(),
    ...subscriptionRoutes(subscriptions, clock),
    ...callRoutes({ calls: played, clock }),
  ];
  const failures = new Failures(operations.map(({ operation }) => operation));
  const control: ControlParts = { calls, attempts, engine, subscriptions, failures, toolCaller };
  const server = new ApiServer([...operations, ...controlRoutes(control)], {
    keys,
    failures,
    clock,
    logger,
    stopping,
  });
  const apiKey = filled(database, options, { tenants, keys, knowledgeBases });
  return { database, calls, attempts, engine, failures, toolCaller, server, apiKey };
}

/**
 * Fills a new database. Returns the key of the demonstration organization; undefined with a seed, which has its own
 * keys, and with an existing database.
 */
function filled(
  database: Database,
  { seed, clock }: ResolvedSandboxOptions,
  parts: SeededParts,
): string | undefined {
  if (!database.isNew) return undefined;
  const key = seed === undefined ? newKey() : undefined;
  const parsed = seed ?? demonstrationSeed(key ?? '');
  database.fill(() => fillFromSeed(parsed, parts, clock.now()));
  return key;
}
