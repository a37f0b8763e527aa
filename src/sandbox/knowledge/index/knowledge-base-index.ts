import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../../kit/clock.ts';
import { Frequencies } from '../embedding/features.ts';
import { VectorIndex } from './vector-index.ts';

export interface StoredChunk {
  readonly id: number;
  readonly vector: Buffer;
}

export interface StoredDocument {
  readonly position: number;
  readonly frequencies: Buffer;
}

/** Reads the stored data of a knowledge base's completed documents. */
export interface StoredDocuments {
  /** The first document after a position. */
  readonly next: (after: number) => StoredDocument | undefined;
  /** The next chunks of a document, in order of their ids after `after`; none at the end. */
  readonly chunks: (position: number, after: number) => readonly StoredChunk[];
}

/** How long documents are read before other work gets a turn, in milliseconds. */
const share = 10;

/** The searchable data of a knowledge base, in memory, where 50,000 vectors are read in no time. */
export class KnowledgeBaseIndex {
  readonly vectors = new VectorIndex();
  readonly frequencies = new Frequencies();
  /** Resolves when all documents are loaded that were completed at the start. */
  readonly isRead: Promise<void>;
  /** The position of the last loaded document. */
  #position = 0;

  /** Loads the stored documents in order, with turns for other work in between. */
  constructor(stored: StoredDocuments) {
    this.isRead = this.#read(stored);
  }

  /** Adds a document that was just completed, unless loading will still reach it. */
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

  /** Removes a document that is about to be deleted, unless it isn't loaded yet. */
  remove(position: number, ids: Iterable<number>, frequencies: Uint8Array): void {
    if (position > this.#position) return;
    for (const id of ids) this.vectors.remove(id);
    this.frequencies.merge(frequencies, -1);
  }

  async #read({ next, chunks }: StoredDocuments): Promise<void> {
    let begunAt = systemClock.elapsed();
    for (let document = next(0); document; document = next(this.#position)) {
      this.#position = document.position;
      this.frequencies.merge(document.frequencies);
      for (let some = chunks(document.position, 0); some.length > 0;) {
        for (const { id, vector } of some) this.vectors.add(id, vectorOf(vector));
        if (systemClock.elapsed() - begunAt > share) {
          await setImmediate();
          begunAt = systemClock.elapsed();
        }
        some = chunks(document.position, some.at(-1)?.id ?? 0);
      }
    }
    this.#position = Infinity;
  }
}

/** Copied, because SQLite's bytes may be misaligned for floats. */
function vectorOf(bytes: Buffer): Float32Array {
  const copy = new Uint8Array(bytes);
  return new Float32Array(copy.buffer, 0, copy.byteLength / Float32Array.BYTES_PER_ELEMENT);
}
