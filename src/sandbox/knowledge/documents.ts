import type { Statement } from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import { type Connection, type Database, type Page, pageOf } from '../database.ts';
import type { DocumentProblem } from './document-problem.ts';
import type { ProcessedDocument } from './processing/processing-thread.ts';

/** The source of a document. */
export type DocumentSource =
  | { readonly kind: 'file'; readonly contentType: string | undefined }
  | { readonly kind: 'website'; readonly urls: readonly string[] };

/** `completed`, when searches find it, is from the platform's document. The others are the sandbox's choice. */
export type DocumentStatus = 'queued' | 'processing' | 'completed' | 'failed';

/** A document without its content. Times are in milliseconds since 1970. */
export interface KnowledgeDocument {
  readonly position: number;
  readonly id: string;
  readonly knowledgeBaseId: string;
  readonly name: string;
  readonly source: DocumentSource;
  /** In bytes; 0 until a website was read. */
  readonly size: number;
  readonly status: DocumentStatus;
  /** Why it failed. */
  readonly problem: DocumentProblem | undefined;
  readonly chunkCount: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A submitted document. A file without content was too large to be stored. */
export interface Submission {
  readonly knowledgeBaseId: string;
  readonly name: string;
  readonly source: DocumentSource;
  readonly content: Uint8Array | undefined;
  readonly size: number;
}

const columns = `position, id, knowledge_base_id as knowledgeBaseId, name, source, size, status, problem,
  chunk_count as chunkCount, created_at as createdAt, updated_at as updatedAt`;

/** With its source and its problem as JSON. */
interface Row extends Omit<KnowledgeDocument, 'source' | 'problem'> {
  readonly source: string;
  readonly problem: string | null;
}

/** How often the process may crash while a document is processed. */
const maxAttempts = 5;

/** The documents of all knowledge bases, and the queue of those to process. The tables must exist. */
export class Documents {
  readonly #connection: Connection;
  readonly #insert: Statement<[Record<string, unknown>]>;
  readonly #find: Statement<[string, string], Row>;
  readonly #list: Statement<[string, number, number], Row>;
  readonly #delete: Statement<[string]>;
  readonly #next: Statement<[], Row>;
  readonly #begin: Statement<[number, number]>;
  readonly #countAttempt: Statement<[number]>;
  readonly #content: Statement<[number], Buffer | null>;
  readonly #settle: Statement<[Record<string, unknown>]>;
  readonly #isProcessing: Statement<[number]>;
  readonly #insertChunk: Statement<[number, string, Buffer]>;
  readonly #deleteChunks: Statement<[number]>;

  constructor({ connection }: Database) {
    this.#connection = connection;
    this.#insert = connection.prepare(`
      insert into documents (id, knowledge_base_id, name, source, size, content, created_at, updated_at)
      values (@id, @knowledgeBaseId, @name, @source, @size, @content, @now, @now)`);
    this.#find = connection.prepare(
      `select ${columns} from documents where knowledge_base_id = ? and id = ?`,
    );
    this.#list = connection.prepare(
      `select ${columns} from documents where knowledge_base_id = ? and position > ? order by position limit ?`,
    );
    this.#delete = connection.prepare('delete from documents where id = ?');
    this.#next = connection.prepare(
      `select ${columns} from documents where status = 'queued' order by position limit 1`,
    );
    this.#begin = connection.prepare(
      `update documents set status = 'processing', updated_at = ? where position = ?`,
    );
    this.#countAttempt = connection.prepare(
      'update documents set attempts = attempts + 1 where position = ?',
    );
    this.#content = connection
      .prepare<[number], Buffer | null>('select content from documents where position = ?')
      .pluck();
    // The content of the file isn't needed any more.
    this.#settle = connection.prepare(`
      update documents set status = @status, problem = @problem, chunk_count = @chunkCount, size = @size,
        frequencies = @frequencies, content = null, updated_at = @now
      where position = @position and status = 'processing'`);
    this.#isProcessing = connection.prepare(
      `select 1 from documents where position = ? and status = 'processing'`,
    );
    this.#insertChunk = connection.prepare('insert into chunks (document, text, vector) values (?, ?, ?)');
    this.#deleteChunks = connection.prepare('delete from chunks where document = ?');
  }

  /** Stores and queues a submission, always as a new document (platform document, Documents). */
  add({ source, content, ...submission }: Submission, now: number): KnowledgeDocument {
    const id = `doc_${randomUUID()}`;
    this.#insert.run({ ...submission, id, source: JSON.stringify(source), content: content ?? null, now });
    return this.find(submission.knowledgeBaseId, id) as KnowledgeDocument;
  }

  find(knowledgeBaseId: string, id: string): KnowledgeDocument | undefined {
    const row = this.#find.get(knowledgeBaseId, id);
    return row && documentOf(row);
  }

  list(knowledgeBaseId: string, after: number, size: number): Page<KnowledgeDocument> {
    return pageOf(this.#list.all(knowledgeBaseId, after, size + 1), size, documentOf);
  }

  /** Deletes a document with its chunks, and any processing in progress. */
  delete({ id }: KnowledgeDocument): void {
    this.#delete.run(id);
  }

  /**
   * Requeues the documents that were being processed when the process ended, without their stored chunks. A document
   * that was attempted too often has failed: it may be what crashes the process.
   */
  resume(now: number): void {
    const problem = {
      code: 'interrupted',
      message: `The sandbox has ended ${maxAttempts} times while it processed this document.`,
    };
    const isInterrupted = `status = 'processing'`;
    this.#connection.transaction(() => {
      this.#connection
        .prepare(
          `delete from chunks where document in (select position from documents where ${isInterrupted})`,
        )
        .run();
      this.#connection
        .prepare(
          `update documents set status = 'failed', problem = ?, content = null, updated_at = ?
           where ${isInterrupted} and attempts >= ?`,
        )
        .run(JSON.stringify(problem), now, maxAttempts);
      this.#connection.prepare(`update documents set status = 'queued' where ${isInterrupted}`).run();
    })();
  }

  /** Begins the longest-waiting document; undefined if none waits. */
  begin(now: number): KnowledgeDocument | undefined {
    const row = this.#next.get();
    if (!row) return undefined;
    this.#begin.run(now, row.position);
    return documentOf(row);
  }

  /** Called when the processing thread takes a document: one that still waits can't crash the process. */
  countAttempt({ position }: KnowledgeDocument): void {
    this.#countAttempt.run(position);
  }

  /** The content of a file; undefined if it was too large to be stored. */
  contentOf({ position }: KnowledgeDocument): Uint8Array<ArrayBuffer> | undefined {
    const content = this.#content.get(position);
    return content ? new Uint8Array(content) : undefined;
  }

  /**
   * Stores some chunks of a document in progress, which searches don't find before it is completed. Returns their ids;
   * undefined if the document was deleted.
   */
  addChunks(
    { position }: KnowledgeDocument,
    chunks: readonly string[],
    vectors: readonly Float32Array[],
  ): readonly number[] | undefined {
    return this.#connection.transaction(() => {
      if (!this.#isProcessing.get(position)) return undefined;
      return chunks.map((text, index) => {
        const vector = vectors[index] ?? new Float32Array();
        const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
        return Number(this.#insertChunk.run(position, text, bytes).lastInsertRowid);
      });
    })();
  }

  /** Completes a document whose chunks are all stored. Returns whether it still exists. */
  complete(
    { position }: KnowledgeDocument,
    { chunks, frequencies }: ProcessedDocument,
    size: number,
    now: number,
  ): boolean {
    const settled = { status: 'completed', problem: null, chunkCount: chunks.length, frequencies };
    return this.#settle.run({ ...settled, position, size, now }).changes > 0;
  }

  fail({ position, size }: KnowledgeDocument, problem: DocumentProblem, now: number): void {
    const settled = { status: 'failed', problem: JSON.stringify(problem), chunkCount: 0, frequencies: null };
    this.#connection.transaction(() => {
      const { changes } = this.#settle.run({ ...settled, position, size, now });
      if (changes > 0) this.#deleteChunks.run(position);
    })();
  }
}

function documentOf({ source, problem, ...row }: Row): KnowledgeDocument {
  return {
    ...row,
    source: JSON.parse(source) as DocumentSource,
    problem: problem === null ? undefined : (JSON.parse(problem) as DocumentProblem),
  };
}
