import { randomUUID } from 'node:crypto';
import { type Connection, type Database, type Page, pageOf } from '../database.ts';
import type { DocumentProblem } from './document-problem.ts';
import type { ProcessedDocument } from './processing/processing-thread.ts';

type DocumentSource =
  | { readonly kind: 'file'; readonly contentType: string | undefined }
  | { readonly kind: 'website'; readonly urls: readonly string[] };

/** `completed`, when searches find it, is from the platform's document. The others are the sandbox's choice. */
type DocumentStatus = 'queued' | 'processing' | 'completed' | 'failed';

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

interface Row extends Omit<KnowledgeDocument, 'source' | 'problem'> {
  readonly source: string;
  readonly problem: string | null;
}

/** How often the process may crash while a document is processed. */
const maxAttempts = 5;

/** The documents of all knowledge bases, and the queue of those to process. */
export class Documents {
  readonly #connection: Connection;

  constructor(database: Database) {
    this.#connection = database.connection;
    database.create(tables);
  }

  /** Stores and queues a submission, always as a new document (platform document, Documents). */
  add({ source, content, ...submission }: Submission, now: number): KnowledgeDocument {
    const id = `doc_${randomUUID()}`;
    const insert = this.#connection.prepare(
      `insert into documents (id, knowledge_base_id, name, source, size, content, created_at, updated_at)
       values (@id, @knowledgeBaseId, @name, @source, @size, @content, @now, @now)`,
    );
    insert.run({ ...submission, id, source: JSON.stringify(source), content: content ?? null, now });
    return this.find(submission.knowledgeBaseId, id) as KnowledgeDocument;
  }

  find(knowledgeBaseId: string, id: string): KnowledgeDocument | undefined {
    const [row] = this.#rows('knowledge_base_id = ? and id = ?', knowledgeBaseId, id);
    return row && documentOf(row);
  }

  list(knowledgeBaseId: string, after: number, size: number): Page<KnowledgeDocument> {
    const rows = this.#rows(
      'knowledge_base_id = ? and position > ? order by position limit ?',
      knowledgeBaseId,
      after,
      size + 1,
    );
    return pageOf(rows, size, documentOf);
  }

  /** Deletes a document with its chunks, and any processing in progress. */
  delete({ id }: KnowledgeDocument): void {
    this.#connection.prepare('delete from documents where id = ?').run(id);
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
    const [row] = this.#rows(`status = 'queued' order by position limit 1`);
    if (!row) return undefined;
    this.#connection
      .prepare(`update documents set status = 'processing', updated_at = ? where position = ?`)
      .run(now, row.position);
    return documentOf(row);
  }

  /** Called when the processing thread takes a document: one that still waits can't crash the process. */
  countAttempt({ position }: KnowledgeDocument): void {
    this.#connection.prepare('update documents set attempts = attempts + 1 where position = ?').run(position);
  }

  /** The content of a file; undefined if it was too large to be stored. */
  contentOf({ position }: KnowledgeDocument): Uint8Array<ArrayBuffer> | undefined {
    const content = this.#connection
      .prepare<[number], Buffer | null>('select content from documents where position = ?')
      .pluck()
      .get(position);
    return content ? new Uint8Array(content) : undefined;
  }

  /**
   * Stores chunks, which searches don't find before the document is completed. Returns their ids; undefined if the
   * document was deleted.
   */
  addChunks(
    { position }: KnowledgeDocument,
    chunks: readonly string[],
    vectors: readonly Float32Array[],
  ): readonly number[] | undefined {
    const insert = this.#connection.prepare('insert into chunks (document, text, vector) values (?, ?, ?)');
    return this.#connection.transaction(() => {
      if (this.#rows(`position = ? and status = 'processing'`, position).length === 0) return undefined;
      return chunks.map((text, index) => {
        const vector = vectors[index] ?? new Float32Array();
        const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
        return Number(insert.run(position, text, bytes).lastInsertRowid);
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
    return this.#settle({ ...settled, position, size, now });
  }

  fail({ position, size }: KnowledgeDocument, problem: DocumentProblem, now: number): void {
    const settled = { status: 'failed', problem: JSON.stringify(problem), chunkCount: 0, frequencies: null };
    this.#connection.transaction(() => {
      if (this.#settle({ ...settled, position, size, now }))
        this.#connection.prepare('delete from chunks where document = ?').run(position);
    })();
  }

  #rows(where: string, ...values: readonly (string | number)[]): readonly Row[] {
    const select = `select ${columns} from documents where ${where}`;
    return this.#connection.prepare<(string | number)[], Row>(select).all(...values);
  }

  /** The content of the file isn't needed any more. Returns whether the document still exists. */
  #settle(settled: Readonly<Record<string, unknown>>): boolean {
    const update = this.#connection.prepare(
      `update documents set status = @status, problem = @problem, chunk_count = @chunkCount, size = @size,
         frequencies = @frequencies, content = null, updated_at = @now
       where position = @position and status = 'processing'`,
    );
    return update.run(settled).changes > 0;
  }
}

function documentOf({ source, problem, ...row }: Row): KnowledgeDocument {
  return {
    ...row,
    source: JSON.parse(source) as DocumentSource,
    problem: problem === null ? undefined : (JSON.parse(problem) as DocumentProblem),
  };
}

const tables = `
  create table if not exists documents (
    position integer primary key autoincrement,
    id text not null unique,
    knowledge_base_id text not null references knowledge_bases (id) on delete cascade,
    name text not null,
    source text not null,
    size integer not null,
    content blob,
    status text not null default 'queued',
    problem text,
    attempts integer not null default 0,
    chunk_count integer not null default 0,
    frequencies blob,
    created_at integer not null,
    updated_at integer not null
  ) strict;
  create index if not exists documents_of_knowledge_base on documents (knowledge_base_id, position, status);
  create index if not exists documents_waiting on documents (position) where status = 'queued';
  create table if not exists chunks (
    id integer primary key,
    document integer not null references documents (position) on delete cascade,
    text text not null,
    vector blob not null
  ) strict;
  create index if not exists chunks_of_document on chunks (document);
`;
