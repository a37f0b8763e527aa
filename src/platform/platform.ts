import { Analyses } from './resources/analyses.ts';
import { PlatformCalls } from './resources/calls.ts';
import { Connection } from './requests/connection.ts';
import { CustomTools } from './resources/custom-tools.ts';
import { Documents } from './documents/documents.ts';
import { KnowledgeBases } from './resources/knowledge-bases.ts';
import { type PlatformOptions, resolvePlatformOptions } from './options.ts';
import { Prompts } from './resources/prompts.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';
import { Websites } from './resources/websites.ts';

/** A client of the platform's API. */
export interface Platform {
  readonly subscriptions: Subscriptions;
  readonly knowledgeBases: KnowledgeBases;
  /** Not in the platform's document, except for how they behave. */
  readonly documents: Documents;
  readonly customTools: CustomTools;
  readonly prompts: Prompts;
  readonly websites: Websites;
  /** Not in the platform's document. */
  readonly calls: PlatformCalls;
  /** Not in the platform's document. */
  readonly analyses: Analyses;
}

/**
 * Creates a client of the platform's API. It opens no connection and sends nothing until an operation is called.
 *
 * @throws ConfigError for an invalid option; the API key is in no message
 * @example
 * const platform = createPlatform({
 *   baseUrl: process.env.PLATFORM_URL,
 *   apiKey: process.env.PLATFORM_KEY,
 * });
 * const knowledgeBase = await platform.knowledgeBases.get('kb_1');
 */
export function createPlatform(options: PlatformOptions): Platform {
  const resolved = resolvePlatformOptions(options);
  const connection = new Connection(resolved);
  return Object.freeze({
    subscriptions: new Subscriptions(connection),
    knowledgeBases: new KnowledgeBases(connection, resolved.knowledgeBasePaths),
    documents: new Documents(connection, resolved.knowledgeBasePaths),
    customTools: new CustomTools(connection),
    prompts: new Prompts(connection),
    websites: new Websites(connection),
    calls: new PlatformCalls(connection),
    analyses: new Analyses(connection),
  });
}
