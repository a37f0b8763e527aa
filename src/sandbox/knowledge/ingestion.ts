import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { withDeadline } from '../../kit/aborting.ts';
import { type Clock, pause } from '../../kit/clock.ts';
import { messageOf } from '../../kit/error-text.ts';
import type { Failures } from '../failures.ts';
import { type GetPage, crawl } from './crawl.ts';
import { DocumentFailure, UnreadableDocument } from './document-problem.ts';
import type { Documents, KnowledgeDocument } from './documents.ts';
import type { KnowledgeBaseFields } from './fields.ts';
import type { ProcessedDocument, ProcessingThread } from './processing/processing-thread.ts';
import { documentTypeOf } from './reading/document-types.ts';
import type { Material } from './reading/read-document.ts';
import { type Search, otherEmbedder } from './search.ts';

interface IngestionParts {
  readonly documents: Documents;
  readonly search: Search;
  readonly thread: ProcessingThread;
  /** The current fields of a document's knowledge base; undefined if it was deleted. */
  readonly fieldsOf: (knowledgeBaseId: string) => KnowledgeBaseFields | undefined;
  readonly getPage: GetPage;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/** The name by which tests make ingestions fail. */
export const ingestOperation = 'knowledge-bases.ingest';

const crawlTimeout = 60_000;

/** How many chunks are stored before other work gets a turn. */
const chunksAtOnce = 200;

/** How many documents are processed at once, so that one is read while another's pages arrive. */
const concurrency = 4;

/**
 * Processes documents, the longest-waiting first: reads, chunks and embeds them, and makes them searchable. New
 * submissions wait in the database; interrupted documents start over at the next start.
 */
export class Ingestion {
  readonly #parts: IngestionParts;
  readonly #working = new Set<Promise<void>>();
  #isStarted = false;

  constructor(parts: IngestionParts) {
    this.#parts = parts;
  }

  start(): void {
    const { documents, clock } = this.#parts;
    documents.resume(clock.now());
    this.#isStarted = true;
    for (let worker = 0; worker < concurrency; worker += 1) this.submitted();
  }

  submitted(): void {
    if (!this.#isStarted || this.#working.size >= concurrency) return;
    const working = this.#work()
      .catch((error: unknown) => this.#report(error))
      .finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  /** Reports that the database refuses a result, as on a full disk. The document starts over at the next start. */
  #report(error: unknown): void {
    const fields = { event: 'ingestion_failed', error: messageOf(error) };
    this.#parts.logger.error(fields, 'processing of documents has stopped until another one is submitted');
  }

  /** Called when the sandbox stops. Resolves when all processing has ended. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    await Promise.all(this.#working);
    await this.#parts.thread.end();
  }

  async #work(): Promise<void> {
    const { documents, clock, stopping } = this.#parts;
    while (!stopping.aborted) {
      const document = documents.begin(clock.now());
      if (!document) return;
      await this.#process(document);
    }
  }

  /** Rejects only if the database fails: a bad document harms no other. */
  async #process(document: KnowledgeDocument): Promise<void> {
    const { documents, search, thread, fieldsOf, clock, logger, stopping } = this.#parts;
    try {
      await this.#failOnDemand();
      const materials = await this.#materialsOf(document);
      const fields = fieldsOf(document.knowledgeBaseId);
      // The document was deleted with its knowledge base.
      if (!fields) return;
      const processed = await thread.process({ materials, ...settingsIn(fields) }, stopping, () =>
        documents.countAttempt(document),
      );
      if (!search.takes(document.knowledgeBaseId, processed.vectors)) throw new DocumentFailure(otherVectors);
      const size = materials.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
      const chunkIds = await this.#storeChunks(document, processed);
      if (!chunkIds || !documents.complete(document, processed, size, clock.now())) return;
      search.add(document, chunkIds, processed);
      logger.debug({ event: 'document_completed', document: document.id }, 'a document was processed');
    } catch (error) {
      // It starts over at the next start.
      if (stopping.aborted) return;
      this.#fail(document, error);
    }
  }

  #fail(document: KnowledgeDocument, error: unknown): void {
    const { documents, clock, logger } = this.#parts;
    const isExpected = error instanceof DocumentFailure;
    const { code, message } = isExpected ? error : unexpected;
    documents.fail(document, { code, message }, clock.now());
    const fields = { event: 'document_failed', document: document.id, code };
    if (isExpected) logger.warn(fields, 'processing a document failed');
    else logger.error({ ...fields, error: messageOf(error) }, 'processing a document failed unexpectedly');
  }

  /** In steps, because storing thousands of chunks would delay answers. Undefined if the document was deleted. */
  async #storeChunks(
    document: KnowledgeDocument,
    { chunks, vectors }: ProcessedDocument,
  ): Promise<readonly number[] | undefined> {
    const ids: number[] = [];
    for (let start = 0; start < chunks.length; start += chunksAtOnce) {
      const end = start + chunksAtOnce;
      const stored = this.#parts.documents.addChunks(
        document,
        chunks.slice(start, end),
        vectors.slice(start, end),
      );
      if (!stored) return undefined;
      ids.push(...stored);
      await setImmediate();
      this.#parts.stopping.throwIfAborted();
    }
    return ids;
  }

  async #failOnDemand(): Promise<void> {
    const { failures, clock, stopping } = this.#parts;
    const failure = failures.takeExactly(ingestOperation);
    if (failure?.kind === 'late') await pause(clock, failure.delay, stopping);
    else if (failure) throw new DocumentFailure(demanded);
    stopping.throwIfAborted();
  }

  async #materialsOf(document: KnowledgeDocument): Promise<readonly Material[]> {
    const { source, name } = document;
    if (source.kind === 'website') return this.#pagesAt(source.urls);
    const bytes = this.#parts.documents.contentOf(document);
    if (!bytes) throw new UnreadableDocument('too_large');
    const type = documentTypeOf({ name, contentType: source.contentType });
    if (!type) throw new UnreadableDocument('unsupported_type');
    return [{ bytes, type }];
  }

  #pagesAt(urls: readonly string[]): Promise<readonly Material[]> {
    const { getPage, clock, stopping } = this.#parts;
    const read = ({ signal }: AbortController) => crawl(urls, getPage, signal);
    return withDeadline(clock, crawlTimeout, [stopping], read, () => new DocumentFailure(slowPages));
  }
}

const unexpected = { code: 'unexpected', message: 'The sandbox could not process the document' } as const;
const demanded = { code: 'demanded', message: 'The document failed because a test requested it' } as const;
const otherVectors = { code: 'embedding_failed', message: otherEmbedder } as const;
const slowPages = { code: 'unreachable', message: 'Fetching the pages took longer than a minute' } as const;

function settingsIn(fields: KnowledgeBaseFields) {
  const chunking = {
    strategy: fields.chunking_strategy,
    size: fields.chunk_size,
    overlap: fields.chunk_overlap,
    language: fields.document_language,
  };
  return { chunking, model: fields.embedding_model };
}
