import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import type { Documents, KnowledgeDocument, Submission } from '../knowledge/documents.ts';
import type { KnowledgeBases } from '../knowledge/knowledge-bases.ts';
import type { Search } from '../knowledge/search.ts';
import { isoTime } from '../model.ts';
import { knowledgeBaseOf, knowledgeBasePath } from './knowledge-bases.ts';
import { pageIn, tokenAfter, validated } from './request.ts';
import { type ApiAnswer, ApiError, type ApiRequest, type Route, routesOf } from './route.ts';
import type { Upload } from './upload.ts';
import { addressSchema } from './websites.ts';

interface DocumentParts {
  readonly knowledgeBases: KnowledgeBases;
  readonly documents: Documents;
  readonly search: Search;
  readonly submitted: () => void;
  readonly clock: Clock;
}

const maxUrls = 100;

const crawlSchema = z.object({
  urls: z
    .array(addressSchema, 'Should be a list of addresses')
    .min(1, 'Should have at least one address')
    .max(maxUrls, `Should have at most ${maxUrls} addresses`),
});

/** The paths are the sandbox's choice: the platform's document describes only how they behave (docs/sandbox.md). */
export function documentRoutes(parts: DocumentParts): readonly Route[] {
  const { knowledgeBases, documents, search, submitted, clock } = parts;
  const route = routesOf('documents', 'general');
  const path = `${knowledgeBasePath}/:kb_id/documents`;
  /** Answers as soon as the document is stored and queued (platform document, Ingestion). */
  const submit = (request: ApiRequest, submission: Omit<Submission, 'knowledgeBaseId'>): ApiAnswer => {
    const { id: knowledgeBaseId } = knowledgeBaseOf(request, knowledgeBases);
    const document = documents.add({ ...submission, knowledgeBaseId }, clock.now());
    submitted();
    return { status: 202, body: shown(document) };
  };
  const find = (request: ApiRequest): KnowledgeDocument => {
    const { id } = knowledgeBaseOf(request, knowledgeBases);
    const document = documents.find(id, request.params['document_id'] ?? '');
    if (!document) throw new ApiError('not_found', 'Document not found');
    return document;
  };
  const upload = route('upload', 'POST', `${path}/file`, (request) => {
    const { name, contentType, content, size } = request.body as Upload;
    return submit(request, { name, source: { kind: 'file', contentType }, content, size });
  });
  return [
    { ...upload, isUpload: true },
    route('crawl', 'POST', `${path}/website`, (request) => {
      const { urls } = validated(crawlSchema, request.body, 'body');
      const source = { kind: 'website', urls } as const;
      return submit(request, { name: urls[0] ?? '', source, content: undefined, size: 0 });
    }),
    route('list', 'GET', path, (request) => {
      const { id } = knowledgeBaseOf(request, knowledgeBases);
      const { size, after } = pageIn(request.query);
      const { items, next } = documents.list(id, after, size);
      return { status: 200, body: { documents: items.map(shown), next_page_token: tokenAfter(next) } };
    }),
    route('get', 'GET', `${path}/:document_id`, (request) => ({ status: 200, body: shown(find(request)) })),
    route('delete', 'DELETE', `${path}/:document_id`, (request) => {
      const document = find(request);
      search.remove(document);
      documents.delete(document);
      return { status: 204 };
    }),
  ];
}

/** A document in an answer. All fields but `document_id` and the status `completed` are the sandbox's choice. */
function shown({ source, ...document }: KnowledgeDocument) {
  return {
    document_id: document.id,
    knowledge_base_id: document.knowledgeBaseId,
    name: document.name,
    source: source.kind,
    ...(source.kind === 'website' && { urls: source.urls }),
    size: document.size,
    status: document.status,
    error: document.problem ?? null,
    chunk_count: document.chunkCount,
    created_at: isoTime(document.createdAt),
    updated_at: isoTime(document.updatedAt),
  };
}
