import { describe, expect, test } from 'vitest';
import { driftOn } from '../../../src/store/postgres/admin/postgres-drift.ts';
import { driftBounds } from '../../../src/store/shared/bounds.ts';
import type { DriftRow } from '../../../src/store/drift-store.ts';
import { openedPostgres } from './opened-postgres.ts';

const rowOf = (path: string, parts: Partial<DriftRow> = {}): DriftRow => ({
  eventName: 'Some.Event',
  path,
  kind: 'unknown_field',
  firstSeenAt: 100,
  lastSeenAt: 100,
  count: 1,
  ...parts,
});

describe('drift in Postgres', () => {
  test(
    'is counted by several processes at once, reported as new by one, without a deadlock',
    { tags: 'long' },
    async () => {
      const { store, session } = await openedPostgres();
      const rows = Array.from({ length: 50 }, (_, index) => rowOf(`payload.novel_${index}`));
      const reported = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          driftOn(session).add(index % 2 === 0 ? rows : rows.toReversed()),
        ),
      );
      expect(reported.flat()).toHaveLength(50);
      const list = await store.drift.list();
      expect(list.map(({ count }) => count)).toEqual(Array.from({ length: 50 }, () => 16));
    },
  );

  test('is kept up to the bound of each event, and up to the one of all', { tags: 'long' }, async () => {
    const { store } = await openedPostgres();
    const { rows, rowsOfEvent } = driftBounds;
    const ofEvent = (eventName: string, count: number) =>
      Array.from({ length: count }, (_, index) => rowOf(`p${index}`, { eventName }));
    expect(await store.drift.add(ofEvent('a', rowsOfEvent - 1))).toHaveLength(rowsOfEvent - 1);
    const mixed = [...ofEvent('a', rowsOfEvent + 5), ...ofEvent('b', 3)];
    const reported = await store.drift.add(mixed);
    expect(reported.map(({ eventName, path }) => `${eventName} ${path}`)).toEqual([
      `a p${rowsOfEvent - 1}`,
      'b p0',
      'b p1',
      'b p2',
    ]);
    const others = Array.from({ length: 10 }, (_, index) => ofEvent(`other-${index}`, rowsOfEvent));
    expect(await store.drift.add(others.flat())).toHaveLength(rows - rowsOfEvent - 3);
    expect(await store.drift.list()).toHaveLength(rows);
    expect(await store.drift.add([rowOf('p0', { eventName: 'new' })])).toEqual([]);
  });
});
