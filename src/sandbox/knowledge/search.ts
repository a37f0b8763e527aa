import { setImmediate } from 'node:timers/promises';
import type { Connection, Database } from '../database.ts';
import type { Embedder } from './embedding/embedder.ts';
import { Frequencies } from './embedding/features.ts';
import { EmbeddingProblem } from './embedding/openai-embedder.ts';

interface StoredChunk {
  readonly id: number;
  readonly vector: Buffer;
}

interface FoundChunk {
  readonly documentId: string;
  readonly documentName: string;
  readonly text: string;
}

export interface Found extends FoundChunk {
  /** The cosine similarity of question and chunk: 1 for the same direction. */
  readonly score: number;
}

/** Used for documents and questions alike. */
export const otherEmbedder =
  'The knowledge base holds embeddings of another model or service: use that one, or create a new knowledge base';

/** How many chunks are compared before other work gets a turn. */
const chunksAtOnce = 200;

/** Finds chunks by comparing a question's vector with all of them. The tables must exist. */
export class Search {
  readonly #connection: Connection;
  readonly #embedderFor: (model: string) => Embedder;

  /** @param embedder returns the embedder of an `embedding_model` */
  constructor({ connection }: Database, embedder: (model: string) => Embedder) {
    this.#connection = connection;
    this.#embedderFor = embedder;
  }

  /** The chunks most similar to a question, the best first. @throws EmbeddingProblem; the signal's reason */
  async find(
    { id, embedding_model: model }: { readonly id: string; readonly embedding_model: string },
    question: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Found[]> {
    const embedder = this.#embedderFor(model);
    const frequencies = this.#frequenciesIn(id);
    const [vector] = await embedder.embed([question], { purpose: 'query', frequencies, signal });
    if (!vector) return [];
    const scores = await this.#scores(id, vector, signal);
    const best = scores.toSorted((left, right) => right.score - left.score || left.chunk - right.chunk);
    // The document may have been deleted meanwhile, and the chunk's id used again.
    const find = this.#connection.prepare<[number, string], FoundChunk>(
      `select documents.id as documentId, documents.name as documentName, chunks.text
       from chunks join documents on documents.position = chunks.document
       where chunks.id = ? and documents.knowledge_base_id = ?`,
    );
    return best.slice(0, limit).flatMap(({ chunk, score }) => {
      const found = find.get(chunk, id);
      return found && score > 0 ? [{ ...found, score }] : [];
    });
  }

  /** Whether vectors are comparable with a knowledge base's, which an earlier start's embedder may have made. */
  takes(knowledgeBaseId: string, [vector]: readonly Float32Array[]): boolean {
    const bytes = this.#connection
      .prepare<[string], number>(
        `select length(chunks.vector) from documents join chunks on chunks.document = documents.position
         where documents.knowledge_base_id = ? limit 1`,
      )
      .pluck()
      .get(knowledgeBaseId);
    return !vector || bytes === undefined || bytes === vector.byteLength;
  }

  #frequenciesIn(knowledgeBaseId: string): Frequencies {
    const frequencies = new Frequencies();
    const stored = this.#connection
      .prepare<[string], Buffer>(
        `select frequencies from documents where knowledge_base_id = ? and status = 'completed'`,
      )
      .pluck();
    for (const bytes of stored.iterate(knowledgeBaseId)) frequencies.merge(bytes);
    return frequencies;
  }

  async #scores(knowledgeBaseId: string, question: Float32Array, signal: AbortSignal) {
    // With `cross join`, SQLite goes through the chunks in order, instead of sorting all of them for each step.
    const next = this.#connection.prepare<[string, number], StoredChunk>(
      `select chunks.id, chunks.vector from chunks cross join documents on documents.position = chunks.document
       where documents.knowledge_base_id = ? and documents.status = 'completed' and chunks.id > ?
       order by chunks.id limit ${chunksAtOnce}`,
    );
    const scores: { readonly chunk: number; readonly score: number }[] = [];
    for (let some = next.all(knowledgeBaseId, 0); some.length > 0;) {
      for (const { id, vector } of some) {
        if (vector.byteLength !== question.byteLength) throw new EmbeddingProblem(otherEmbedder);
        scores.push({ chunk: id, score: similarity(vector, question) });
      }
      await setImmediate();
      signal.throwIfAborted();
      some = next.all(knowledgeBaseId, some.at(-1)?.id ?? Infinity);
    }
    return scores;
  }
}

/** The cosine of two vectors of unit length. A loop, because callbacks for each number take twenty times as long. */
function similarity(bytes: Buffer, question: Float32Array): number {
  // Copied, because SQLite's bytes may be misaligned for floats.
  const vector = new Float32Array(new Uint8Array(bytes).buffer);
  let sum = 0;
  for (let index = 0; index < question.length; index += 1)
    sum += (vector[index] ?? 0) * (question[index] ?? 0);
  return sum;
}
