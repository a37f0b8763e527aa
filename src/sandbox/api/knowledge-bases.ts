import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { changedKnowledgeBaseSchema, newKnowledgeBaseSchema } from '../knowledge/fields.ts';
import type { KnowledgeBase, KnowledgeBases } from '../knowledge/knowledge-bases.ts';
import { EmbeddingProblem } from '../knowledge/embedding/openai-embedder.ts';
import type { Search } from '../knowledge/search.ts';
import type { Tenants } from '../tenants.ts';
import { pageIn, tokenAfter, validated } from './request.ts';
import { ApiError, type ApiRequest, type Route, invalidRequest, routesOf } from './route.ts';

interface KnowledgeBaseParts {
  readonly knowledgeBases: KnowledgeBases;
  readonly search: Search;
  readonly tenants: Tenants;
  readonly clock: Clock;
}

/** The path of the operations on knowledge bases; the document shows it for only one of them. */
export const knowledgeBasePath = '/api/v1/knowledge-bases';

/** The document has a 422, but answers malformed ids with not found: only longer ids are answered with 422 here. */
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

/** Only the path of `get` is in the platform's document: the others are the sandbox's choice (docs/sandbox.md). */
export function knowledgeBaseRoutes(parts: KnowledgeBaseParts): readonly Route[] {
  const { knowledgeBases, search, tenants, clock } = parts;
  const route = routesOf('knowledge-bases', 'general');
  const member = `${knowledgeBasePath}/:kb_id`;
  const find = (request: ApiRequest): KnowledgeBase => knowledgeBaseOf(request, knowledgeBases);
  const requireWorkspace = (organizationId: string, workspaceId: string | null): void => {
    if (workspaceId === null || tenants.hasWorkspace(organizationId, workspaceId)) return;
    const msg = "Should be one of the organization's workspaces";
    throw invalidRequest({ loc: ['body', 'workspace_id'], msg, type: 'unknown' });
  };
  return [
    route('create', 'POST', knowledgeBasePath, ({ caller, body }) => {
      const fields = validated(newKnowledgeBaseSchema, body, 'body', 'Should be ');
      requireWorkspace(caller.organizationId, fields.workspace_id);
      return { status: 201, body: knowledgeBases.create(caller, fields, clock.now()) };
    }),
    route('list', 'GET', knowledgeBasePath, ({ caller, query }) => {
      const { size, after } = pageIn(query);
      const { items, next } = knowledgeBases.list(caller, after, size);
      return { status: 200, body: { knowledge_bases: items, next_page_token: tokenAfter(next) } };
    }),
    route('get', 'GET', member, (request) => ({ status: 200, body: find(request) })),
    // PUT replaces everything, as for subscriptions: the sandbox's choice. The model stays (platform document).
    route('update', 'PUT', member, (request) => {
      const { caller, body } = request;
      const found = find(request);
      const checked = validated(changedKnowledgeBaseSchema, body, 'body', 'Should be ');
      const { embedding_model: model, ...fields } = checked;
      if (model !== undefined && model !== found.embedding_model) {
        const msg = `Should be ${found.embedding_model}: it is fixed at creation time`;
        throw invalidRequest({ loc: ['body', 'embedding_model'], msg, type: 'fixed' });
      }
      requireWorkspace(caller.organizationId, fields.workspace_id);
      return { status: 200, body: knowledgeBases.replace(caller, found, fields, clock.now()) };
    }),
    route('delete', 'DELETE', member, (request) => {
      const { id } = find(request);
      knowledgeBases.delete(request.caller, id);
      search.forget(id);
      return { status: 204 };
    }),
    route('search', 'POST', `${member}/search`, async (request) => {
      const knowledgeBase = find(request);
      const { query, limit } = validated(searchSchema, request.body, 'body');
      const found = await search.find(knowledgeBase, query, limit, request.signal).catch(asUnavailable);
      const results = found.map(({ documentId, documentName, text, score }) => ({
        document_id: documentId,
        document_name: documentName,
        text,
        score,
      }));
      return { status: 200, body: { results } };
    }),
  ];
}

/** @throws ApiError the same for a missing, a malformed and another tenant's id, so that nobody learns which exist */
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
