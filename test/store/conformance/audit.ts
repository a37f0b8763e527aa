/** What every store must do with the list of what people have done. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { replayRequest } from '../parts.ts';

const all = { limit: 10 };

/** Runs this part of the suite. */
export function describeAudit(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: audit`, () => {
    test('an entry is there from the beginning, and is finished with its counts', async () => {
      const store = await opened();
      const request = { ...replayRequest, by: 'ann', reason: 'why', now: 200 };
      const id = await store.audit.begin(request);
      const entry = { id, action: 'replay', by: 'ann', reason: 'why', what: '{}', requestedAt: 200 };
      const begun = await store.audit.list(all);
      expect(begun.entries).toEqual([{ ...entry, events: 0, runs: 0, finishedAt: undefined }]);
      await store.audit.end(id, 300, { events: 2, runs: 3 });
      const ended = await store.audit.list(all);
      expect(ended.entries).toEqual([{ ...entry, events: 2, runs: 3, finishedAt: 300 }]);
    });

    test('lists the latest first, from where a page ends, and within times', async () => {
      const store = await opened();
      const ids: number[] = [];
      for (const now of [100, 200, 300]) ids.push(await store.audit.begin({ ...replayRequest, now }));
      const listed = async (page: object) =>
        (await store.audit.list({ ...all, ...page })).entries.map(({ id }) => id);
      expect(await listed({})).toEqual(ids.toReversed());
      expect(await listed({ limit: 2 })).toEqual([ids[2], ids[1]]);
      const { cursor } = await store.audit.list({ limit: 2 });
      expect(await listed({ cursor })).toEqual([ids[0]]);
      expect((await store.audit.list(all)).cursor).toBeUndefined();
      expect(await listed({ since: 200 })).toEqual([ids[2], ids[1]]);
      expect(await listed({ until: 200 })).toEqual([ids[0]]);
    });
  });
}
