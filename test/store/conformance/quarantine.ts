/** What every store must do with deliveries that no handler sees. */
import { describe, expect, test } from 'vitest';
import type { QuarantineFilter, QuarantineRecord } from '../../../src/store/quarantine-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { eventOf, unauthenticated } from '../parts.ts';

/** Runs this part of the suite. */
export function describeQuarantine(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: quarantine`, () => {
    test('keeps one of all unreadable copies, and a bounded number that is not authentic, the latest', async () => {
      const store = await opened();
      for (let copy = 0; copy < 3; copy += 1) {
        await store.quarantine.keep({ ...unauthenticated, kind: 'unreadable', reason: 'not_json' });
      }
      await Promise.all(Array.from({ length: 1_003 }, () => store.quarantine.keep(unauthenticated)));
      expect((await store.counts()).quarantine).toEqual({ notAuthentic: 1_000, unreadable: 1, dropped: 3 });
      const large = { ...unauthenticated, body: Buffer.alloc(20 * 1024 ** 2) };
      for (let index = 0; index < 3; index += 1) await store.quarantine.keep(large);
      expect((await store.counts()).quarantine.notAuthentic).toBe(2);
    });

    test('of a body that was cut, the size is that of the whole', async () => {
      const store = await opened();
      const kept = { digest: 'd', receivedAt: 1, headers: {}, body: Buffer.from('head'), skipped: 0 };
      const record = { ...kept, kind: 'not_authentic', reason: 'signature_missing' } as const;
      const { id } = await store.quarantine.keep({ ...record, cutFrom: 5_000 });
      expect(await store.quarantine.get(id)).toMatchObject({ bytes: 5_000, isCut: true });
      const whole = await store.quarantine.keep(record);
      const { deliveries } = await store.quarantine.list({ limit: 2 });
      expect(deliveries).toMatchObject([
        { id: whole.id, bytes: 4, isCut: false },
        { id, bytes: 5_000, isCut: true },
      ]);
    });

    test('lists the latest first, page by page, by kind, reason and time', async () => {
      const store = await opened();
      const keep = async (receivedAt: number, parts: Partial<QuarantineRecord> = {}) =>
        (await store.quarantine.keep({ ...unauthenticated, receivedAt, ...parts })).id;
      const first = await keep(1_000);
      const second = await keep(2_000, { reason: 'signature_missing' });
      const third = await keep(3_000, { kind: 'unreadable', reason: 'not_json' });
      const ids = async (filter: Partial<QuarantineFilter>) =>
        (await store.quarantine.list({ limit: 10, ...filter })).deliveries.map(({ id }) => id);
      expect(await ids({})).toEqual([third, second, first]);
      expect(await ids({ kind: 'not_authentic' })).toEqual([second, first]);
      expect(await ids({ reason: 'not_json' })).toEqual([third]);
      expect(await ids({ since: 2_000, until: 3_000 })).toEqual([second]);
      const { cursor } = await store.quarantine.list({ limit: 2 });
      expect(await ids({ limit: 2, cursor })).toEqual([first]);
      expect((await store.quarantine.list({ limit: 10 })).cursor).toBeUndefined();
      expect(await store.quarantine.unauthenticated()).toEqual([first, second]);
    });

    test('releases a delivery as the event that it is, once, and leaves nothing of it', async () => {
      const store = await opened();
      const [first, copy] = [
        await store.quarantine.keep(unauthenticated),
        await store.quarantine.keep(unauthenticated),
      ];
      expect(await store.quarantine.release(first.id, eventOf('a'))).toBe('new');
      expect(await store.quarantine.release(first.id, eventOf('b'))).toBe('missing');
      expect(await store.quarantine.release(copy.id, eventOf('a'))).toBe('duplicate');
      expect((await store.counts()).quarantine.notAuthentic).toBe(0);
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
    });

    test('marks a delivery as unreadable, and discards it once', async () => {
      const store = await opened();
      const { id } = await store.quarantine.keep(unauthenticated);
      await store.quarantine.markUnreadable(id, 'not_json');
      expect(await store.quarantine.get(id)).toMatchObject({ kind: 'unreadable', reason: 'not_json' });
      expect(await store.quarantine.unauthenticated()).toEqual([]);
      expect(await store.quarantine.discard(id)).toBe(true);
      expect(await store.quarantine.discard(id)).toBe(false);
      expect(await store.quarantine.get(id)).toBeUndefined();
    });
  });
}
