import { randomBytes } from 'node:crypto';
import { BatchedWrites, Database } from './database.ts';
import { Documents } from './knowledge/documents.ts';
import { KnowledgeBases } from './knowledge/knowledge-bases.ts';
import { type OrganizationSeed, demonstrationSeed } from './seed.ts';
import { Tenants } from './tenants.ts';
import { callRoutes } from './api/calls.ts';
import { type ControlParts, controlRoutes } from './api/control.ts';
import { customToolRoutes } from './api/custom-tools.ts';
import { knowledgeBaseRoutes } from './api/knowledge-bases.ts';
import { documentRoutes } from './api/knowledge-documents.ts';
import { promptRoutes } from './api/prompts.ts';
import type { Route } from './api/route.ts';
import { ApiServer } from './api/server.ts';
import { subscriptionRoutes } from './api/subscriptions.ts';
import { websiteRoutes } from './api/websites.ts';
import { PlayedCalls } from './calls/played-calls.ts';
import { CallSimulator } from './calls/simulator.ts';
import { CustomTools } from './custom-tools/custom-tools.ts';
import { ToolCaller } from './custom-tools/tool-caller.ts';
import { Adversary } from './delivery/adversary.ts';
import { Attempts } from './delivery/attempts.ts';
import { DeliveryEngine } from './delivery/engine.ts';
import { Outbox } from './delivery/outbox.ts';
import { Failures } from './failures.ts';
import { embedderFor } from './knowledge/embedding/openai-embedder.ts';
import { Ingestion, ingestOperation } from './knowledge/ingestion.ts';
import { ProcessingThread } from './knowledge/processing/processing-thread.ts';
import { Search } from './knowledge/search.ts';
import type { ResolvedSandboxOptions } from './options.ts';
import { requestAllowed } from './websites/website.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';

interface Surroundings {
  readonly stopping: AbortSignal;
  /** @throws RingbackError unless the sandbox runs */
  readonly requireStarted: (method: string) => void;
}

export type Parts = ReturnType<typeof buildParts>;

/** @throws RingbackError `database_unreadable`, `database_newer`, `node_too_old` */
export function buildParts(options: ResolvedSandboxOptions, { stopping, requireStarted }: Surroundings) {
  const database = new Database(options.database);
  const { logger, clock, websiteHosts, embeddings } = options;
  const tenants = new Tenants(database);
  const documents = new Documents(database);
  const knowledgeBases = new KnowledgeBases(database);
  const search = new Search(database, (model) => embedderFor(model, embeddings));
  const customTools = new CustomTools(database);
  const subscriptions = new Subscriptions(database);
  const writes = new BatchedWrites(database.connection, options);
  const attempts = new Attempts(database, writes);
  const outbox = new Outbox(database, writes);
  const played = new PlayedCalls(database, writes);
  const adversary = options.adversary && new Adversary(options.adversary);
  const engine = new DeliveryEngine({ ...options, subscriptions, outbox, attempts, writes, adversary });
  const calls = new CallSimulator({ ...options, tenants, played, engine, requireStarted, stopping });
  const toolCaller = new ToolCaller({ tenants, customTools, clock, stopping });
  const knowledge = { knowledgeBases, documents, search, tenants, clock };
  const operations: readonly Route[] = [
    // Before those of knowledge bases, whose paths begin in the same way.
    ...websiteRoutes(options),
    ...knowledgeBaseRoutes(knowledge),
    ...documentRoutes({ ...knowledge, submitted: () => ingestion.submitted() }),
    ...customToolRoutes({ customTools, tenants, clock }),
    ...promptRoutes(options.generatePrompt),
    ...subscriptionRoutes(subscriptions, clock),
    ...callRoutes({ calls: played, clock }),
  ];
  const failures = new Failures([...operations.map(({ operation }) => operation), ingestOperation]);
  const ingestion = new Ingestion({
    documents,
    search,
    thread: new ProcessingThread(embeddings, clock),
    fieldsOf: (id) => knowledgeBases.fieldsOf(id),
    getPage: (url, signal) => requestAllowed(url, websiteHosts, signal),
    failures,
    clock,
    logger,
    stopping,
  });
  const control: ControlParts = { calls, attempts, outbox, subscriptions, failures, toolCaller };
  const server = new ApiServer([...operations, ...controlRoutes(control)], {
    tenants,
    failures,
    clock,
    logger,
    stopping,
  });
  const apiKey = fill(database, options, { tenants, knowledgeBases, documents });
  return { database, calls, attempts, outbox, engine, ingestion, failures, toolCaller, server, apiKey };
}

interface SeededParts {
  readonly tenants: Tenants;
  readonly knowledgeBases: KnowledgeBases;
  readonly documents: Documents;
}

/** Fills a new database. Returns the key of the demonstration organization; undefined with a seed. */
function fill(
  database: Database,
  { seed, clock }: ResolvedSandboxOptions,
  parts: SeededParts,
): string | undefined {
  if (!database.isNew) return undefined;
  const key = seed === undefined ? newKey() : undefined;
  const { organizations } = seed ?? demonstrationSeed(key ?? '');
  const now = clock.now();
  database.fill(() => {
    for (const organization of organizations) fillFrom(organization, parts, now);
  });
  return key;
}

function newKey(): string {
  return `key_${randomBytes(24).toString('base64url')}`;
}

function fillFrom(
  seed: OrganizationSeed,
  { tenants, knowledgeBases, documents }: SeededParts,
  now: number,
): void {
  tenants.add(seed);
  for (const { documents: files, ...base } of seed.knowledge_bases) {
    knowledgeBases.add({ ...base, organization_id: seed.id }, now);
    for (const { name, text } of files) {
      const content = Buffer.from(text);
      // Its name determines the type of text, as for an upload without a content type.
      const source = { kind: 'file', contentType: undefined } as const;
      documents.add({ knowledgeBaseId: base.id, name, source, content, size: content.byteLength }, now);
    }
  }
}
