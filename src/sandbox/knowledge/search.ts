import type { Statement } from 'better-sqlite3';
import type { Database } from '../database.ts';
import type { Embedder } from './embedding/embedder.ts';
import { EmbeddingProblem } from './embedding/openai-embedder.ts';
import { KnowledgeBaseIndex, type StoredChunk, type StoredDocument } from './index/knowledge-base-index.ts';
import type { KnowledgeDocument } from './documents.ts';
import type { ProcessedDocument } from './processing/processing-thread.ts';

export interface Found {
  readonly documentId: string;
  readonly documentName: string;
  readonly text: string;
  /** The cosine similarity of question and chunk: 1 for the same direction. */
  readonly score: number;
}

/** Used for documents and questions alike. */
export const otherEmbedder =
  'The knowledge base holds embeddings of another model or service: use that one, or create a new knowledge base';

/** How many chunks are read in one step. */
const chunksAtOnce = 200;

/**
 * Finds chunks by their vectors. The vectors of a knowledge base are read at its first search, and follow its documents
 * from then on. The tables must exist.
 */
export class Search {
  readonly #embedderFor: (model: string) => Embedder;
  readonly #indexes = new Map<string, KnowledgeBaseIndex>();
  readonly #nextDocument: Statement<[string, number], StoredDocument>;
  readonly #nextChunks: Statement<[number, number], StoredChunk>;
  readonly #frequenciesOf: Statement<[number], Buffer | null>;
  readonly #vectorLength: Statement<[string], number>;
  readonly #chunkIds: Statement<[number], number>;
  readonly #chunk: Statement<[number, string], Omit<Found, 'score'>>;

  /** @param embedderFor returns the embedder for an `embedding_model` */
  constructor({ connection }: Database, embedderFor: (model: string) => Embedder) {
    this.#embedderFor = embedderFor;
    this.#nextDocument = connection.prepare(`
      select position, frequencies from documents
      where knowledge_base_id = ? and position > ? and status = 'completed' order by position limit 1`);
    this.#nextChunks = connection.prepare(
      `select id, vector from chunks where document = ? and id > ? order by id limit ${chunksAtOnce}`,
    );
    this.#frequenciesOf = connection
      .prepare<[number], Buffer | null>('select frequencies from documents where position = ?')
      .pluck();
    this.#vectorLength = connection
      .prepare<[string], number>(
        `select length(chunks.vector) from documents join chunks on chunks.document = documents.position
         where documents.knowledge_base_id = ? limit 1`,
      )
      .pluck();
    this.#chunkIds = connection.prepare<[number], number>('select id from chunks where document = ?').pluck();
    this.#chunk = connection.prepare(`
      select documents.id as documentId, documents.name as documentName, chunks.text
      from chunks join documents on documents.position = chunks.document
      where chunks.id = ? and documents.knowledge_base_id = ?`);
  }

  /**
   * The chunks most similar to a question, the best first.
   *
   * @throws EmbeddingProblem; the signal's reason
   */
  async find(
    { id, embedding_model: model }: { readonly id: string; readonly embedding_model: string },
    question: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Found[]> {
    const index = this.#indexOf(id);
    await index.isRead;
    signal.throwIfAborted();
    const { vectors, frequencies } = index;
    const [vector] = await this.#embedderFor(model).embed([question], {
      purpose: 'query',
      frequencies,
      signal,
    });
    if (!vector || vectors.size === 0) return [];
    if (vector.length !== vectors.dimensions) throw new EmbeddingProblem(otherEmbedder);
    return vectors.search(vector, limit).flatMap(({ id: chunk, score }) => {
      // The knowledge base may have been deleted meanwhile, and its chunk ids reused.
      const found = this.#chunk.get(chunk, id);
      return found && score > 0 ? [{ ...found, score }] : [];
    });
  }

  /** Whether vectors are comparable with a knowledge base's, which an earlier start's embedder may have made. */
  takes(knowledgeBaseId: string, [vector]: readonly Float32Array[]): boolean {
    const bytes = this.#vectorLength.get(knowledgeBaseId);
    return !vector || bytes === undefined || bytes === vector.byteLength;
  }

  /** Makes the chunks of a completed document searchable. */
  add(
    { knowledgeBaseId, position }: KnowledgeDocument,
    ids: readonly number[],
    { vectors, frequencies }: ProcessedDocument,
  ): void {
    this.#indexes.get(knowledgeBaseId)?.add(position, ids, vectors, frequencies);
  }

  /** Removes the chunks of a document from the index before it is deleted. */
  remove({ knowledgeBaseId, position }: KnowledgeDocument): void {
    const frequencies = this.#frequenciesOf.get(position);
    // Without frequencies, the document isn't completed.
    if (frequencies)
      this.#indexes.get(knowledgeBaseId)?.remove(position, this.#chunkIds.all(position), frequencies);
  }

  forget(knowledgeBaseId: string): void {
    this.#indexes.delete(knowledgeBaseId);
  }

  /** Concurrent searches wait for the same index to be read. */
  #indexOf(knowledgeBaseId: string): KnowledgeBaseIndex {
    const known = this.#indexes.get(knowledgeBaseId);
    if (known) return known;
    const index = new KnowledgeBaseIndex({
      next: (after) => this.#nextDocument.get(knowledgeBaseId, after),
      chunks: (position, after) => this.#nextChunks.all(position, after),
    });
    this.#indexes.set(knowledgeBaseId, index);
    // The next search retries.
    index.isRead.catch(() => this.forget(knowledgeBaseId));
    return index;
  }
}
