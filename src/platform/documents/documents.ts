import { z } from 'zod';
import type { Duration } from '../../kit/duration.ts';
import { parseStrictly } from '../../errors/option-problems.ts';
import { pathPart } from '../requests/address.ts';
import {
  type CallOptions,
  type PageOptions,
  type WaitOptions,
  readCallOptions,
  readPageOptions,
  untilReady,
  waitOptionsSchema,
} from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { everyItem, pageToken } from '../requests/pages.ts';
import { PlatformError } from '../requests/platform-error.ts';
import type { PlatformRequest } from '../requests/request.ts';
import { listOf } from '../requests/shapes.ts';
import { type KnowledgeBasePaths, filledPath } from '../resources/knowledge-base-paths.ts';
import {
  type KnowledgeDocument,
  documentShape,
  ingestionFailed,
  notCompleted,
  notResubmitted,
} from './document.ts';
import {
  type FileToUpload,
  type ReadySubmission,
  type Submission,
  fileSubmission,
  readySubmission,
  websiteSubmission,
} from './submission.ts';

/** Options of `documents.completed`. */
export interface CompletedOptions extends WaitOptions {
  /** How long to wait for the document; 0 asks once. @default '10m' */
  readonly timeout?: Duration | undefined;
}

/** Statuses that ask to come back later and say nothing about the document. */
const outlasted: ReadonlySet<unknown> = new Set([429, 503]);

const completedSchema = waitOptionsSchema(600_000);
const listShape = z.looseObject({ documents: listOf(documentShape), next_page_token: pageToken });

/**
 * The documents of knowledge bases. Not in the platform's document: it describes how they behave, but shows no request.
 * The paths are set with the option `knowledgeBasePaths`.
 */
export class Documents {
  readonly #connection: Connection;
  readonly #paths: KnowledgeBasePaths;

  /** @internal */
  constructor(connection: Connection, paths: KnowledgeBasePaths) {
    this.#connection = connection;
    this.#paths = paths;
  }

  /**
   * Submits a file. Resolves once the file is stored; searches find it once `completed` resolves. Each upload creates
   * a new document: to replace one, call `refresh`. Not in the platform's document: the path and the form's field,
   * `file`.
   *
   * @throws ConfigError; PlatformError
   * @example
   * const { document_id } = await platform.documents.upload('kb_1', {
   *   name: 'prices.md',
   *   content: await readFile('prices.md'),
   * });
   */
  async upload(
    knowledgeBaseId: string,
    file: FileToUpload,
    options: CallOptions = {},
  ): Promise<KnowledgeDocument> {
    const operation = 'documents.upload';
    const { signal } = readCallOptions(options, operation);
    const ids = { kb_id: pathPart(knowledgeBaseId, 'knowledgeBaseId', operation) };
    return this.#submit(operation, ids, await fileSubmission(file, operation), signal);
  }

  /**
   * Submits pages of a website, which become one document. `websites.sitemaps` finds their addresses. Each call
   * creates a new document: to replace one, call `refresh`. Not in the platform's document: the path and the fields
   * of the request.
   *
   * @throws ConfigError for an invalid address; PlatformError
   * @example const { document_id } = await platform.documents.crawl('kb_1', ['https://www.example.com/prices']);
   */
  async crawl(
    knowledgeBaseId: string,
    urls: readonly string[],
    options: CallOptions = {},
  ): Promise<KnowledgeDocument> {
    const operation = 'documents.crawl';
    const { signal } = readCallOptions(options, operation);
    const ids = { kb_id: pathPart(knowledgeBaseId, 'knowledgeBaseId', operation) };
    return this.#submit(operation, ids, websiteSubmission(urls, operation), signal);
  }

  /**
   * Lists all documents of a knowledge base. Further pages are fetched as you iterate. Not in the platform's document:
   * neither the path nor the form of the answer.
   */
  list(
    knowledgeBaseId: string,
    options: PageOptions = {},
  ): AsyncGenerator<KnowledgeDocument, void, undefined> {
    const operation = 'documents.list';
    const { pageSize, signal } = readPageOptions(options, operation);
    const path = filledPath(this.#paths.listDocuments, {
      kb_id: pathPart(knowledgeBaseId, 'knowledgeBaseId', operation),
    });
    const listing = { operation, path, pageSize, signal };
    return everyItem(this.#connection, listing, listShape, ({ documents }) => documents);
  }

  /**
   * One document, with its status. Not in the platform's document: the path. @throws PlatformError 404 when there is
   * none
   */
  async get(
    knowledgeBaseId: string,
    documentId: string,
    options: CallOptions = {},
  ): Promise<KnowledgeDocument> {
    const operation = 'documents.get';
    const { signal } = readCallOptions(options, operation);
    return this.#get(operation, idsOf(knowledgeBaseId, documentId, operation), { signal });
  }

  /**
   * Deletes a document: searches no longer find it. Not in the platform's document. @throws PlatformError 404 when
   * there is none
   */
  async delete(knowledgeBaseId: string, documentId: string, options: CallOptions = {}): Promise<void> {
    const operation = 'documents.delete';
    const { signal } = readCallOptions(options, operation);
    const path = filledPath(this.#paths.deleteDocument, idsOf(knowledgeBaseId, documentId, operation));
    await this.#connection.sendForNothing({ operation, method: 'DELETE', path, signal });
  }

  /**
   * Waits until a document is completed, so that searches find it. Keeps polling on any other status, except `failed`,
   * which is final, and after answers of 429 and 503. Not in the platform's document: the path, and every status but
   * `completed`.
   *
   * @throws PlatformError `ingestion_failed` with the platform's reason; `not_ready` when the time is over, and the
   *   platform may complete it later; 404 when there is no such document
   * @example await platform.documents.completed('kb_1', document_id, { signal });
   */
  async completed(
    knowledgeBaseId: string,
    documentId: string,
    options: CompletedOptions = {},
  ): Promise<KnowledgeDocument> {
    const operation = 'documents.completed';
    const waiting = parseStrictly(completedSchema, options, operation);
    const ids = idsOf(knowledgeBaseId, documentId, operation);
    const { signal } = waiting;
    return untilReady(this.#connection.clock, waiting, (deadline) =>
      this.#ask(operation, ids, { signal, deadline }),
    );
  }

  /**
   * Replaces a document: deletes it, then submits what takes its place. The platform has no update, and **this is not
   * atomic**: in between, and until the new document is completed, searches find neither. If the second half fails, the
   * old document is gone, and the error `not_resubmitted` says so. What is wrong with a submission by itself is found
   * before anything is deleted. The signal ends nothing once the deletion was sent. Not in the platform's document: the
   * paths.
   *
   * @returns the new document, which has its own id and is not completed yet
   * @throws ConfigError; PlatformError `not_resubmitted`: submit it again with `upload` or `crawl`; 404 when there is no
   *   such document, and then nothing is submitted
   * @example
   * const { document_id } = await platform.documents.refresh('kb_1', 'doc_1', {
   *   name: 'prices.md',
   *   content: await readFile('prices.md'),
   * });
   */
  async refresh(
    knowledgeBaseId: string,
    documentId: string,
    submission: Submission,
    options: CallOptions = {},
  ): Promise<KnowledgeDocument> {
    const operation = 'documents.refresh';
    const { signal } = readCallOptions(options, operation);
    const ids = idsOf(knowledgeBaseId, documentId, operation);
    const ready = await readySubmission(submission, operation);
    await this.#connection.sendForNothing({
      operation,
      method: 'DELETE',
      path: filledPath(this.#paths.deleteDocument, ids),
      signal,
      mustBeAnswered: true,
      ifInDoubt: `Check with documents.get: if it is there, refresh it again; otherwise submit it with documents.${ready.by}.`,
    });
    try {
      return await this.#submit(operation, ids, ready, undefined);
    } catch (error) {
      throw error instanceof PlatformError ? notResubmitted(operation, documentId, ready.by, error) : error;
    }
  }

  #submit(
    operation: string,
    ids: { readonly kb_id: string },
    { by, ...content }: ReadySubmission,
    signal: AbortSignal | undefined,
  ): Promise<KnowledgeDocument> {
    const path = filledPath(this.#paths[by], { kb_id: ids.kb_id });
    const ifInDoubt =
      'Check with documents.list before you submit it again, which would create a second document.';
    return this.#connection.send(
      { operation, method: 'POST', path, ...content, signal, ifInDoubt },
      documentShape,
    );
  }

  #get(operation: string, ids: Ids, ending: Ending): Promise<KnowledgeDocument> {
    const path = filledPath(this.#paths.getDocument, ids);
    return this.#connection.send({ operation, method: 'GET', path, ...ending }, documentShape);
  }

  async #ask(operation: string, ids: Ids, ending: Ending): Promise<KnowledgeDocument | PlatformError> {
    try {
      const document = await this.#get(operation, ids, ending);
      if (document.status === 'completed') return document;
      if (document.status === 'failed') throw ingestionFailed(operation, document);
      return notCompleted(operation, document);
    } catch (error) {
      if (error instanceof PlatformError && outlasted.has(error.status)) return error;
      throw error;
    }
  }
}

type Ending = Pick<PlatformRequest, 'signal' | 'deadline'>;

interface Ids {
  readonly kb_id: string;
  readonly document_id: string;
}

function idsOf(knowledgeBaseId: string, documentId: string, operation: string): Ids {
  return {
    kb_id: pathPart(knowledgeBaseId, 'knowledgeBaseId', operation),
    document_id: pathPart(documentId, 'documentId', operation),
  };
}
