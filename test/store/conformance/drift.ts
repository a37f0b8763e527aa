/** What every store must do with differences between what comes and what is documented. */
import { describe, expect, test } from 'vitest';
import type { DriftRow } from '../../../src/store/drift-store.ts';
import type { Store } from '../../../src/store/store.ts';

const difference = { eventName: 'Some.Event', path: 'payload.novel', kind: 'unknown_field' } as const;

/** A difference that was seen once, at a time. */
const rowOf = (seenAt: number, parts: Partial<DriftRow> = {}): DriftRow => ({
  ...difference,
  firstSeenAt: seenAt,
  lastSeenAt: seenAt,
  count: 1,
  ...parts,
});

/** Runs this part of the suite. */
export function describeDrift(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: drift`, () => {
    test('adding returns what is new, and counts the rest', async () => {
      const store = await opened();
      expect(await store.drift.add([rowOf(200)])).toEqual([difference]);
      expect(await store.drift.add([rowOf(300, { count: 2 }), rowOf(100)])).toEqual([]);
      expect(await store.drift.list()).toEqual([
        { ...difference, firstSeenAt: 100, lastSeenAt: 300, count: 4 },
      ]);
    });

    test('one that is added twice at once is new once', async () => {
      const store = await opened();
      expect(await store.drift.add([rowOf(100), rowOf(200)])).toEqual([difference]);
      expect(await store.drift.list()).toMatchObject([{ count: 2, firstSeenAt: 100, lastSeenAt: 200 }]);
    });

    test('another event, path or kind makes another difference; the one first seen last comes first', async () => {
      const store = await opened();
      const rows = [
        rowOf(200),
        rowOf(400, { eventName: 'Another.Event' }),
        rowOf(100, { path: 'payload.other' }),
        rowOf(300, { kind: 'type_changed' }),
      ];
      expect(await store.drift.add(rows)).toHaveLength(4);
      expect((await store.drift.list()).map(({ firstSeenAt }) => firstSeenAt)).toEqual([400, 300, 200, 100]);
    });

    test(
      'keeps no more than its bounds allow, and returns nothing as new that it does not keep',
      { tags: 'long' },
      async () => {
        const store = await opened();
        const rows = Array.from({ length: 5_000 }, (_, index) =>
          rowOf(100, { path: `payload.novel_${index}` }),
        );
        const reported = await store.drift.add(rows);
        expect(reported.length).toBeLessThan(rows.length);
        expect(new Set((await store.drift.list()).map(({ path }) => path))).toEqual(
          new Set(reported.map(({ path }) => path)),
        );
        expect(await store.drift.add(rows)).toEqual([]);
      },
    );
  });
}
