import { setImmediate } from 'node:timers/promises';
import { Frequencies } from '../embedding/frequencies.ts';
import { VectorIndex } from './vector-index.ts';

export interface StoredChunk {
  readonly id: number;
  readonly vector: Buffer;
}

/** Reads what is stored of the documents of a knowledge base that are completed. */
export interface StoredDocuments {
  /** The first document behind a position. */
  readonly next: (after: number) => { readonly position: number; readonly frequencies: Buffer } | undefined;
  /** Some chunks of a document, those with the smallest ids behind one; none when there are no more. */
  readonly chunks: (position: number, after: number) => readonly StoredChunk[];
}

/** How long documents are read before other work has its turn, in milliseconds. */
const share = 10;

/** What is searched of a knowledge base: in memory, because the vectors of 50,000 chunks are read in no time from there. */
export class KnowledgeBaseIndex {
  readonly vectors = new VectorIndex();
  readonly frequencies = new Frequencies();
  /** Resolves when all documents are there that were completed when it was made. */
  readonly isRead: Promise<void>;
  /** The position of the document that was read last. */
  #position = 0;

  /** Reads what is stored, document by document in their order, in steps between which other work has its turn. */
  constructor(stored: StoredDocuments) {
    this.isRead = this.#read(stored);
  }

  /** Adds a document that was just completed. One that is still to be read is added when its turn comes. */
  add(
    position: number,
    ids: readonly number[],
    vectors: readonly Float32Array[],
    frequencies: Uint8Array,
  ): void {
    if (position > this.#position) return;
    for (const [place, id] of ids.entries()) this.vectors.add(id, vectors[place] ?? new Float32Array());
    this.frequencies.merge(frequencies);
  }

  /** Takes a document out that is about to be deleted. One that is still to be read will not be there. */
  remove(position: number, ids: Iterable<number>, frequencies: Uint8Array): void {
    if (position > this.#position) return;
    for (const id of ids) this.vectors.remove(id);
    this.frequencies.merge(frequencies, -1);
  }

  async #read({ next, chunks }: StoredDocuments): Promise<void> {
    let begunAt = performance.now();
    for (let document = next(0); document; document = next(this.#position)) {
      this.#position = document.position;
      this.frequencies.merge(document.frequencies);
      for (let some = chunks(document.position, 0); some.length > 0;) {
        for (const { id, vector } of some) this.vectors.add(id, vectorOf(vector));
        if (performance.now() - begunAt > share) {
          await setImmediate();
          begunAt = performance.now();
        }
        some = chunks(document.position, some.at(-1)?.id ?? 0);
      }
    }
    this.#position = Infinity;
  }
}

/** SQLite's bytes needn't lie where numbers may begin. */
function vectorOf(bytes: Buffer): Float32Array {
  const copy = new Uint8Array(bytes);
  return new Float32Array(copy.buffer, 0, copy.byteLength / Float32Array.BYTES_PER_ELEMENT);
}
