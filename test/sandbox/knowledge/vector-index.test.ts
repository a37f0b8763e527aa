import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { VectorIndex } from '../../../src/sandbox/knowledge/index/vector-index.ts';

const vectorOf = (...numbers: readonly number[]) => Float32Array.from(numbers);

const cosine = (left: Float32Array, right: Float32Array): number => {
  const dot = (one: Float32Array, other: Float32Array) =>
    one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
};

test('the most similar vectors come first, with their cosine', () => {
  const index = new VectorIndex();
  index.add(1, vectorOf(0, 2));
  index.add(2, vectorOf(3, 3));
  index.add(3, vectorOf(5, 0));
  const found = index.search(vectorOf(7, 0), 2);
  expect(found.map(({ id }) => id)).toEqual([3, 2]);
  expect(found[0]?.score).toBeCloseTo(1);
  expect(found[1]?.score).toBeCloseTo(Math.SQRT1_2);
});

test('of the same score, the smaller id comes first', () => {
  const index = new VectorIndex();
  for (const id of [7, 3, 9, 1, 5]) index.add(id, vectorOf(1, 1));
  expect(index.search(vectorOf(1, 1), 3).map(({ id }) => id)).toEqual([1, 3, 5]);
});

test('nothing is found where nothing is wanted', () => {
  const index = new VectorIndex();
  index.add(1, vectorOf(1, 0));
  expect(index.search(vectorOf(1, 0), 0)).toEqual([]);
});

test('an id that is added again has the new vector only', () => {
  const index = new VectorIndex();
  index.add(1, vectorOf(1, 0));
  index.add(1, vectorOf(0, 1));
  expect(index.size).toBe(1);
  expect(index.search(vectorOf(1, 0), 1)).toEqual([{ id: 1, score: 0 }]);
});

test('an empty index takes vectors of any length, and then only of the same', () => {
  const index = new VectorIndex();
  expect(index.search(vectorOf(1), 5)).toEqual([]);
  index.add(1, vectorOf(1, 2));
  expect(() => index.add(2, vectorOf(1))).toThrow(RangeError);
  expect(() => index.search(vectorOf(1), 1)).toThrow('a vector should have 2 numbers, not 1');
  index.remove(1);
  index.add(2, vectorOf(1));
  expect(index.search(vectorOf(4), 1)).toEqual([{ id: 2, score: 1 }]);
});

test('of many vectors, each is found, and none that was removed', () => {
  const index = new VectorIndex();
  const count = 3_000;
  const angleOf = (id: number) => (id / count) * 2 * Math.PI;
  const vectorFor = (id: number) => vectorOf(Math.cos(angleOf(id)), Math.sin(angleOf(id)));
  for (let id = 0; id < count; id += 1) index.add(id, vectorFor(id));
  for (let id = 0; id < count; id += 2) index.remove(id);
  expect(index.size).toBe(count / 2);
  const near = (id: number) => index.search(vectorFor(id), 1)[0]?.id ?? NaN;
  for (let id = 0; id < count; id += 1) {
    const distance = Math.abs(near(id) - id);
    expect(Math.min(distance, count - distance)).toBe(id % 2 === 0 ? 1 : 0);
  }
});

test('after any changes, a search finds what comparing all vectors finds', () => {
  const vector = fc
    .array(fc.integer({ min: -9, max: 9 }), { minLength: 5, maxLength: 5 })
    .filter((numbers) => numbers.some((number) => number !== 0))
    .map((numbers) => Float32Array.from(numbers));
  const change = fc.record({
    id: fc.integer({ min: 0, max: 20 }),
    vector: fc.option(vector, { nil: undefined }),
  });
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 60 }),
      vector,
      fc.integer({ min: 1, max: 25 }),
      (changes, query, limit) => {
        const index = new VectorIndex();
        const expected = new Map<number, Float32Array>();
        for (const { id, vector: added } of changes) {
          if (added) {
            index.add(id, added);
            expected.set(id, added);
          } else {
            index.remove(id);
            expected.delete(id);
          }
        }
        expect(index.size).toBe(expected.size);
        const found = index.search(query, limit);
        const scores = [...expected.values()]
          .map((other) => cosine(query, other))
          .toSorted((left, right) => right - left);
        expect(found).toHaveLength(Math.min(limit, expected.size));
        for (const [position, { id, score }] of found.entries()) {
          expect(score).toBeCloseTo(scores[position] ?? NaN, 5);
          expect(score).toBeCloseTo(cosine(query, expected.get(id) ?? vectorOf()), 5);
        }
      },
    ),
  );
});
