import type { Statement } from 'better-sqlite3';
import type { Database } from '../database.ts';
import type { Embedder } from './embedding/embedder.ts';
import { EmbeddingProblem } from './embedding/openai-embedder.ts';
import { Frequencies } from './embedding/frequencies.ts';
import { VectorIndex } from './index/vector-index.ts';
import type { KnowledgeDocument } from './documents.ts';
import type { ProcessedDocument } from './processing/processing-thread.ts';

/** A chunk that was found. */
export interface Found {
  readonly documentId: string;
  readonly documentName: string;
  readonly text: string;
  /** The cosine of the angle between the vectors of question and chunk: 1 for the same direction. */
  readonly score: number;
}

/** What is searched of a knowledge base. In memory, because the vectors of 50,000 chunks are read in no time from there. */
interface SearchIndex {
  readonly vectors: VectorIndex;
  readonly frequencies: Frequencies;
}

/** Said of documents and questions alike. */
export const otherEmbedder =
  'The knowledge base was filled with the embeddings of another model or service: use that one, or a new knowledge base';

interface VectorRow {
  readonly id: number;
  readonly vector: Buffer;
}

interface FoundRow {
  readonly documentId: string;
  readonly documentName: string;
  readonly text: string;
}

/**
 * Finds chunks by their vectors. Those of a knowledge base are read when it is first searched, and follow its documents from
 * then on. The tables are there before.
 */
export class Search {
  readonly #embedderFor: (model: string) => Embedder;
  readonly #indexes = new Map<string, SearchIndex>();
  readonly #vectors: Statement<[string], VectorRow>;
  readonly #frequencies: Statement<[string], Buffer>;
  readonly #frequenciesOf: Statement<[number], Buffer | null>;
  readonly #vectorLength: Statement<[string], number>;
  readonly #chunkIds: Statement<[number], number>;
  readonly #chunk: Statement<[number], FoundRow>;

  /** @param embedder What makes vectors for knowledge bases with this `embedding_model` */
  constructor({ connection }: Database, embedder: (model: string) => Embedder) {
    this.#embedderFor = embedder;
    this.#vectors = connection.prepare(`
      select chunks.id, chunks.vector from documents join chunks on chunks.document = documents.position
      where documents.knowledge_base_id = ?`);
    this.#frequencies = connection
      .prepare<[string], Buffer>(
        'select frequencies from documents where knowledge_base_id = ? and frequencies is not null',
      )
      .pluck();
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
      from chunks join documents on documents.position = chunks.document where chunks.id = ?`);
  }

  /**
   * The chunks that are most like a question, the best first.
   *
   * @throws EmbeddingProblem; the signal's reason
   */
  async find(
    { id, embedding_model: model }: { readonly id: string; readonly embedding_model: string },
    question: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Found[]> {
    const { vectors, frequencies } = this.#indexOf(id);
    const [vector] = await this.#embedderFor(model).embed([question], {
      purpose: 'query',
      frequencies,
      signal,
    });
    if (!vector || vectors.size === 0) return [];
    if (vector.length !== vectors.dimensions) throw new EmbeddingProblem(otherEmbedder);
    return vectors.search(vector, limit).flatMap(({ id: chunk, score }) => {
      const found = this.#chunk.get(chunk);
      return found && score > 0 ? [{ ...found, score }] : [];
    });
  }

  /**
   * Whether vectors can be compared with those that a knowledge base has. Others come from another embedder, which the sandbox
   * was started with before.
   */
  takes(knowledgeBaseId: string, [vector]: readonly Float32Array[]): boolean {
    const bytes = this.#vectorLength.get(knowledgeBaseId);
    return !vector || bytes === undefined || bytes === vector.byteLength;
  }

  /** Lets the chunks of a document be found, once it is completed. */
  add({ knowledgeBaseId }: KnowledgeDocument, ids: readonly number[], document: ProcessedDocument): void {
    const index = this.#indexes.get(knowledgeBaseId);
    if (!index) return;
    for (const [place, id] of ids.entries()) {
      index.vectors.add(id, document.vectors[place] ?? new Float32Array());
    }
    index.frequencies.merge(document.frequencies);
  }

  /** Forgets the chunks of a document, before it is deleted. */
  remove({ knowledgeBaseId, position }: KnowledgeDocument): void {
    const index = this.#indexes.get(knowledgeBaseId);
    if (!index) return;
    for (const id of this.#chunkIds.iterate(position)) index.vectors.remove(id);
    const frequencies = this.#frequenciesOf.get(position);
    if (frequencies) index.frequencies.merge(frequencies, -1);
  }

  /** Forgets a knowledge base that was deleted. */
  forget(knowledgeBaseId: string): void {
    this.#indexes.delete(knowledgeBaseId);
  }

  #indexOf(knowledgeBaseId: string): SearchIndex {
    const known = this.#indexes.get(knowledgeBaseId);
    if (known) return known;
    const index = { vectors: new VectorIndex(), frequencies: new Frequencies() };
    for (const { id, vector } of this.#vectors.iterate(knowledgeBaseId))
      index.vectors.add(id, vectorOf(vector));
    for (const counts of this.#frequencies.iterate(knowledgeBaseId)) index.frequencies.merge(counts);
    this.#indexes.set(knowledgeBaseId, index);
    return index;
  }
}

/** SQLite's bytes needn't lie where numbers may begin. */
function vectorOf(bytes: Buffer): Float32Array {
  const copy = new Uint8Array(bytes);
  return new Float32Array(copy.buffer, 0, copy.byteLength / Float32Array.BYTES_PER_ELEMENT);
}
