import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { changedKnowledgeBaseSchema, newKnowledgeBaseSchema } from '../knowledge/fields.ts';
import type { KnowledgeBase, KnowledgeBases } from '../knowledge/knowledge-bases.ts';
import { EmbeddingProblem } from '../knowledge/embedding/openai-embedder.ts';
import type { Search } from '../knowledge/search.ts';
import type { Tenants } from '../tenants.ts';
import { pageIn, tokenAfter, validated } from './request.ts';
import { type ApiAnswer, ApiError, type ApiRequest, type Route, invalidRequest, routesOf } from './route.ts';

/** What the operations on knowledge bases work with. */
export interface KnowledgeBaseParts {
  readonly knowledgeBases: KnowledgeBases;
  readonly search: Search;
  readonly tenants: Tenants;
  readonly clock: Clock;
}

/** Where the operations on knowledge bases are: the document shows it for one of them. */
export const knowledgeBasePath = '/api/v1/knowledge-bases';

/**
 * The document has a 422 for a knowledge base, but says that a malformed id is answered as not found. The sandbox
 * therefore answers 422 only for an id that is longer than this, in characters: its own choice.
 */
const maxIdLength = 256;
const maxQuestion = 10_000;
const maxResults = 100;

const pathSchema = z.object({
  kb_id: z.string().max(maxIdLength, `Should have at most ${maxIdLength} characters`),
});

const searchSchema = z.object({
  query: z
    .string('Should be text')
    .refine((text) => text.trim() !== '', 'Should not be empty')
    .max(maxQuestion, `Should have at most ${maxQuestion} characters`),
  limit: z
    .int(`Should be a whole number from 1 to ${maxResults}`)
    .min(1, `Should be a whole number from 1 to ${maxResults}`)
    .max(maxResults, `Should be a whole number from 1 to ${maxResults}`)
    .default(5),
});

/**
 * Operations on knowledge bases. The document describes their behaviour, and shows the path of `get` alone: the others are a
 * choice of the sandbox (docs/sandbox.md).
 */
export function knowledgeBaseRoutes(parts: KnowledgeBaseParts): readonly Route[] {
  const operations = new Operations(parts);
  const route = routesOf('knowledge-bases', 'knowledge-base');
  const member = `${knowledgeBasePath}/:kb_id`;
  return [
    route('create', 'POST', knowledgeBasePath, (request) => operations.create(request)),
    route('list', 'GET', knowledgeBasePath, (request) => operations.list(request)),
    route('get', 'GET', member, (request) => ({ status: 200, body: operations.find(request) })),
    route('update', 'PUT', member, (request) => operations.update(request)),
    route('delete', 'DELETE', member, (request) => operations.delete(request)),
    route('search', 'POST', `${member}/search`, (request) => operations.search(request)),
  ];
}

/**
 * The knowledge base that a request is about.
 *
 * @throws ApiError the same for a missing, a malformed and another tenant's id: callers must not learn which ids exist
 */
export function knowledgeBaseOf(
  { caller, params }: ApiRequest,
  knowledgeBases: KnowledgeBases,
): KnowledgeBase {
  const { kb_id: id } = validated(pathSchema, params, 'path');
  const knowledgeBase = knowledgeBases.find(caller, id);
  if (!knowledgeBase) throw new ApiError('not_found', 'Knowledge base not found');
  return knowledgeBase;
}

function asUnavailable(error: unknown): never {
  throw error instanceof EmbeddingProblem ? new ApiError('unavailable', error.message) : error;
}

class Operations {
  readonly #parts: KnowledgeBaseParts;

  constructor(parts: KnowledgeBaseParts) {
    this.#parts = parts;
  }

  create({ caller, body }: ApiRequest): ApiAnswer {
    const { knowledgeBases, clock } = this.#parts;
    const fields = validated(newKnowledgeBaseSchema, body, 'body', 'Should be ');
    this.#requireWorkspace(caller.organizationId, fields.workspace_id);
    return { status: 201, body: knowledgeBases.create(caller, fields, clock.now()) };
  }

  list({ caller, query }: ApiRequest): ApiAnswer {
    const { size, after } = pageIn(query);
    const { items, next } = this.#parts.knowledgeBases.list(caller, after, size);
    return { status: 200, body: { knowledge_bases: items, next_page_token: tokenAfter(next) } };
  }

  find(request: ApiRequest): KnowledgeBase {
    return knowledgeBaseOf(request, this.#parts.knowledgeBases);
  }

  /** PUT replaces everything, as it does for subscriptions: a choice of the sandbox. The model stays (platform document). */
  update(request: ApiRequest): ApiAnswer {
    const { knowledgeBases, clock } = this.#parts;
    const found = this.find(request);
    const { embedding_model: model, ...fields } = validated(
      changedKnowledgeBaseSchema,
      request.body,
      'body',
      'Should be ',
    );
    if (model !== undefined && model !== found.embedding_model) {
      const msg = `Should be ${found.embedding_model}: it is fixed at creation time`;
      throw invalidRequest({ loc: ['body', 'embedding_model'], msg, type: 'fixed' });
    }
    this.#requireWorkspace(request.caller.organizationId, fields.workspace_id);
    return { status: 200, body: knowledgeBases.replace(request.caller, found.id, fields, clock.now()) };
  }

  delete(request: ApiRequest): ApiAnswer {
    const { knowledgeBases, search } = this.#parts;
    const { id } = this.find(request);
    knowledgeBases.delete(request.caller, id);
    search.forget(id);
    return { status: 204 };
  }

  async search(request: ApiRequest): Promise<ApiAnswer> {
    const knowledgeBase = this.find(request);
    const { query, limit } = validated(searchSchema, request.body, 'body');
    const found = await this.#parts.search
      .find(knowledgeBase, query, limit, request.signal)
      .catch(asUnavailable);
    const results = found.map(({ documentId, documentName, text, score }) => ({
      document_id: documentId,
      document_name: documentName,
      text,
      score,
    }));
    return { status: 200, body: { results } };
  }

  #requireWorkspace(organizationId: string, workspaceId: string | null): void {
    if (workspaceId === null || this.#parts.tenants.hasWorkspace(organizationId, workspaceId)) return;
    const msg = "Should be one of the organization's workspaces";
    throw invalidRequest({ loc: ['body', 'workspace_id'], msg, type: 'unknown' });
  }
}
