import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Frequencies } from '../../../src/sandbox/knowledge/embedding/features.ts';
import {
  KnowledgeBaseIndex,
  type StoredDocuments,
} from '../../../src/sandbox/knowledge/index/knowledge-base-index.ts';

const vector = Float32Array.of(1, 2);

function frequenciesOf(text: string): Buffer {
  const frequencies = new Frequencies();
  frequencies.add(text);
  return Buffer.from(frequencies.toBytes());
}

/** Completed documents with two chunks each, by their positions. A chunk's id begins with the position. */
class Stored implements StoredDocuments {
  readonly #positions: Set<number>;

  constructor(...positions: readonly number[]) {
    this.#positions = new Set(positions);
  }

  readonly next = (after: number) => {
    const position = [...this.#positions].sort((left, right) => left - right).find((other) => other > after);
    return position === undefined ? undefined : { position, frequencies: frequenciesOf('garden') };
  };

  readonly chunks = (position: number, after: number) =>
    Stored.idsOf(position)
      .filter((id) => id > after && this.#positions.has(position))
      .slice(0, 1)
      .map((id) => ({ id, vector: Buffer.from(vector.buffer) }));

  complete(position: number, index: KnowledgeBaseIndex): void {
    this.#positions.add(position);
    index.add(position, Stored.idsOf(position), [vector, vector], frequenciesOf('garden'));
  }

  delete(position: number, index: KnowledgeBaseIndex): void {
    index.remove(position, Stored.idsOf(position), frequenciesOf('garden'));
    this.#positions.delete(position);
  }

  static idsOf(position: number): readonly number[] {
    return [position * 10, position * 10 + 1];
  }
}

/** Each look at the time is a second after the last one. */
function slowly(): void {
  let now = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
  onTestFinished(() => spy.mockRestore());
}

/** The ids of the chunks that are found, and how rare a word is for the index. */
const contentOf = ({ vectors, frequencies }: KnowledgeBaseIndex) => ({
  ids: vectors
    .search(vector, 100)
    .map(({ id }) => id)
    .sort((left, right) => left - right),
  rarity: frequencies.rarity(0),
});

test('an index is read in steps that do not block other work', async () => {
  slowly();
  const index = new KnowledgeBaseIndex(new Stored(1, 2, 3));
  await setImmediate();
  expect(index.vectors.size).toBeLessThan(6);
  await index.isRead;
  expect(contentOf(index).ids).toEqual([10, 11, 20, 21, 30, 31]);
});

test('what is completed or deleted while an index is read is in it once, or not at all', async () => {
  slowly();
  const stored = new Stored(2, 4, 6, 8);
  const index = new KnowledgeBaseIndex(stored);
  while (index.vectors.size < 3) await setImmediate();
  expect(index.vectors.size).toBe(3);
  // Behind, at and before what is read.
  stored.complete(1, index);
  stored.complete(3, index);
  stored.complete(7, index);
  stored.delete(2, index);
  stored.delete(4, index);
  stored.delete(8, index);
  await index.isRead;
  stored.complete(9, index);
  stored.delete(3, index);
  const expected = new KnowledgeBaseIndex(new Stored(1, 6, 7, 9));
  await expected.isRead;
  expect(contentOf(index)).toEqual(contentOf(expected));
  expect(contentOf(index).ids).toEqual([10, 11, 60, 61, 70, 71, 90, 91]);
});
