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

/** What the operations on documents work with. */
export interface DocumentParts {
  readonly knowledgeBases: KnowledgeBases;
  readonly documents: Documents;
  readonly search: Search;
  /** Told that a document waits. */
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

/**
 * Operations on the documents of a knowledge base. The platform's document describes their behaviour, and shows no path: these
 * are a choice of the sandbox (docs/sandbox.md).
 */
export function documentRoutes(parts: DocumentParts): readonly Route[] {
  const operations = new Operations(parts);
  const route = routesOf('documents', 'knowledge-base');
  const path = `${knowledgeBasePath}/:kb_id/documents`;
  return [
    { ...route('upload', 'POST', `${path}/file`, (request) => operations.upload(request)), isUpload: true },
    route('crawl', 'POST', `${path}/website`, (request) => operations.crawl(request)),
    route('list', 'GET', path, (request) => operations.list(request)),
    route('get', 'GET', `${path}/:document_id`, (request) => operations.get(request)),
    route('delete', 'DELETE', `${path}/:document_id`, (request) => operations.delete(request)),
  ];
}

class Operations {
  readonly #parts: DocumentParts;

  constructor(parts: DocumentParts) {
    this.#parts = parts;
  }

  upload(request: ApiRequest): ApiAnswer {
    const { name, contentType, content, size } = request.body as Upload;
    return this.#submit(request, { name, source: { kind: 'file', contentType }, content, size });
  }

  crawl(request: ApiRequest): ApiAnswer {
    const { urls } = validated(crawlSchema, request.body, 'body');
    const source = { kind: 'website', urls } as const;
    return this.#submit(request, { name: urls[0] ?? '', source, content: undefined, size: 0 });
  }

  list(request: ApiRequest): ApiAnswer {
    const { id } = knowledgeBaseOf(request, this.#parts.knowledgeBases);
    const { size, after } = pageIn(request.query);
    const { items, next } = this.#parts.documents.list(id, after, size);
    return { status: 200, body: { documents: items.map(shown), next_page_token: tokenAfter(next) } };
  }

  get(request: ApiRequest): ApiAnswer {
    return { status: 200, body: shown(this.#find(request)) };
  }

  delete(request: ApiRequest): ApiAnswer {
    const document = this.#find(request);
    this.#parts.search.remove(document);
    this.#parts.documents.delete(document);
    return { status: 204 };
  }

  /** Answered as soon as it is stored and queued (platform document, Ingestion). */
  #submit(request: ApiRequest, submission: Omit<Submission, 'knowledgeBaseId'>): ApiAnswer {
    const { knowledgeBases, documents, submitted, clock } = this.#parts;
    const { id: knowledgeBaseId } = knowledgeBaseOf(request, knowledgeBases);
    const document = documents.add({ ...submission, knowledgeBaseId }, clock.now());
    submitted();
    return { status: 202, body: shown(document) };
  }

  #find(request: ApiRequest): KnowledgeDocument {
    const { id } = knowledgeBaseOf(request, this.#parts.knowledgeBases);
    const document = this.#parts.documents.find(id, request.params['document_id'] ?? '');
    if (!document) throw new ApiError('not_found', 'Document not found');
    return document;
  }
}

/** A document as it is answered. Beyond `document_id` and a status of `completed`, the fields are a choice of the sandbox. */
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
