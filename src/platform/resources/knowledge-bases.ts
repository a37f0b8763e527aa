import { z } from 'zod';
import { givenText, parseStrictly, signalOption } from '../../errors/option-problems.ts';
import {
  type CallOptions,
  type PageOptions,
  readCallOptions,
  readPageOptions,
} from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { everyItem, pageToken } from '../requests/pages.ts';
import { pathPart } from '../requests/address.ts';
import { listOf } from '../requests/shapes.ts';
import {
  type KnowledgeBase,
  type KnowledgeBaseFields,
  type SearchResults,
  fieldsSchema,
  knowledgeBaseShape,
  resultsShape,
} from './knowledge-base.ts';
import { type KnowledgeBasePaths, filledPath } from './knowledge-base-paths.ts';

/** Options of `knowledgeBases.search`. */
export interface SearchOptions extends CallOptions {
  /** How many results to ask for. @default the platform's own */
  readonly limit?: number | undefined;
}

const expectedLimit = 'a whole number of 1 or more';
const searchOptionsSchema = z.strictObject({
  limit: z.int(expectedLimit).min(1, expectedLimit).optional(),
  signal: signalOption,
});
const questionSchema = z.strictObject({ query: givenText });
const listShape = z.looseObject({ knowledge_bases: listOf(knowledgeBaseShape), next_page_token: pageToken });

/**
 * Stores of documents that agents search. Only `get` is in the platform's document; the paths of the others are set
 * with the option `knowledgeBasePaths`.
 */
export class KnowledgeBases {
  readonly #connection: Connection;
  readonly #paths: KnowledgeBasePaths;

  /** @internal */
  constructor(connection: Connection, paths: KnowledgeBasePaths) {
    this.#connection = connection;
    this.#paths = paths;
  }

  /**
   * Creates a knowledge base. Not in the platform's document: neither the path nor the fields of the request.
   *
   * @throws ConfigError for a field that there is not; PlatformError, for example 422
   * @example const { id } = await platform.knowledgeBases.create({ name: 'Handbook', document_language: 'de' });
   */
  async create(fields: KnowledgeBaseFields, options: CallOptions = {}): Promise<KnowledgeBase> {
    const operation = 'knowledgeBases.create';
    const body = parseStrictly(fieldsSchema, fields, operation, 'fields');
    const { signal } = readCallOptions(options, operation);
    const path = this.#paths.create;
    const ifInDoubt = 'Check with knowledgeBases.list before you create it again.';
    return this.#connection.send(
      { operation, method: 'POST', path, body, signal, ifInDoubt },
      knowledgeBaseShape,
    );
  }

  /**
   * Lists all knowledge bases. Further pages are fetched as you iterate. Not in the platform's document: neither the
   * path nor the form of the answer.
   *
   * @example for await (const { id, name } of platform.knowledgeBases.list()) console.log(id, name);
   */
  list(options: PageOptions = {}): AsyncGenerator<KnowledgeBase, void, undefined> {
    const operation = 'knowledgeBases.list';
    const { pageSize, signal } = readPageOptions(options, operation);
    const listing = { operation, path: this.#paths.list, pageSize, signal };
    return everyItem(this.#connection, listing, listShape, (page) => page.knowledge_bases);
  }

  /**
   * Reads one knowledge base (platform document, GET knowledge base).
   *
   * @throws PlatformError 404 when there is none of this id, or it is somebody else's: the platform doesn't say which
   * @example const { document_count } = await platform.knowledgeBases.get('kb_1');
   */
  async get(id: string, options: CallOptions = {}): Promise<KnowledgeBase> {
    const operation = 'knowledgeBases.get';
    const { signal } = readCallOptions(options, operation);
    const path = `/api/v1/knowledge-bases/${pathPart(id, 'id', operation)}`;
    return this.#connection.send({ operation, method: 'GET', path, signal }, knowledgeBaseShape);
  }

  /**
   * Replaces all fields of a knowledge base: omitted ones go back to their defaults. Not in the platform's document:
   * that the PUT replaces everything is assumed, as it does for subscriptions. The embedding model is fixed at
   * creation, so omit it, or give the current one.
   *
   * @throws as `create` does; PlatformError 404 as `get` does
   * @example await platform.knowledgeBases.update('kb_1', { name: 'Handbook', chunk_size: 256, chunk_overlap: 32 });
   */
  async update(id: string, fields: KnowledgeBaseFields, options: CallOptions = {}): Promise<KnowledgeBase> {
    const operation = 'knowledgeBases.update';
    const path = memberPath(this.#paths.update, id, operation);
    const body = parseStrictly(fieldsSchema, fields, operation, 'fields');
    const { signal } = readCallOptions(options, operation);
    return this.#connection.send({ operation, method: 'PUT', path, body, signal }, knowledgeBaseShape);
  }

  /**
   * Deletes a knowledge base. Not in the platform's document; its documents are assumed to go with it.
   *
   * @throws PlatformError 404 as `get` does
   */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    const operation = 'knowledgeBases.delete';
    const { signal } = readCallOptions(options, operation);
    const path = memberPath(this.#paths.delete, id, operation);
    await this.#connection.sendForNothing({ operation, method: 'DELETE', path, signal });
  }

  /**
   * Finds the pieces of documents that answer a question best. Only completed documents are searched (platform
   * document, Ingestion). Not in the platform's document: the path, the fields of the request and of the results.
   *
   * @throws ConfigError for an empty question; PlatformError 404 as `get` does
   * @example
   * const { results } = await platform.knowledgeBases.search('kb_1', 'What does a repair cost?', { limit: 3 });
   */
  async search(id: string, query: string, options: SearchOptions = {}): Promise<SearchResults> {
    const operation = 'knowledgeBases.search';
    const path = memberPath(this.#paths.search, id, operation);
    const asked = parseStrictly(questionSchema, { query }, operation);
    const { limit, signal } = parseStrictly(searchOptionsSchema, options, operation);
    const body = { ...asked, ...(limit !== undefined && { limit }) };
    return this.#connection.send(
      { operation, method: 'POST', isRead: true, path, body, signal },
      resultsShape,
    );
  }
}

function memberPath(template: string, id: string, operation: string): string {
  return filledPath(template, { kb_id: pathPart(id, 'id', operation) });
}
