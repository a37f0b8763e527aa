import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { printedBy } from '../kit/bytes-left.ts';

const script = fileURLToPath(new URL('./bytes-left-process.ts', import.meta.url));

// A `Set` or `Map` through which deliveries come and go would leave its old tables behind, with 2.6 KB a delivery:
// see `src/kit/collections.ts`. The event loop stalls when they are collected.
test(
  'a delivery leaves little behind that only a full garbage collection frees',
  { tags: 'long' },
  async () => {
    expect(await printedBy(script)).toBeLessThan(1_500);
  },
);
