import { expect, test } from 'vitest';
import { bucketEnds, bucketOf, quantile } from '../../src/kit/activity.ts';

test.each([
  [0, 1],
  [1, 1],
  [1.2, 2],
  [9, 12],
  [60_001, 300_000],
  [1e9, 3_600_000],
])('%d ms are in the bucket up to %d', (milliseconds, end) => {
  expect(bucketOf(milliseconds)).toBe(end);
});

test('a quantile is never below the true one, and at most twice as high', () => {
  const durations = Array.from({ length: 1_000 }, (_, index) => 1 + index * 3);
  const counts = new Map<number, number>();
  for (const duration of durations) counts.set(bucketOf(duration), (counts.get(bucketOf(duration)) ?? 0) + 1);
  for (const part of [0.01, 0.5, 0.9, 0.99, 1]) {
    const real = durations[Math.ceil(part * durations.length) - 1] ?? 0;
    expect(quantile(counts, part)).toBeGreaterThanOrEqual(real);
    expect(quantile(counts, part)).toBeLessThanOrEqual(real * 2);
  }
  expect(quantile(new Map(), 0.5)).toBeUndefined();
  expect([...bucketEnds].toSorted((one, other) => one - other)).toEqual([...bucketEnds]);
});
