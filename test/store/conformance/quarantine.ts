/** What every store must do with deliveries that no handler sees. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import {} from '../parts.ts';

/** Runs this part of the suite. */
export function describeQuarantine(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: quarantine`, () => {
    test('unreadable once for all copies, strangers no more than so many, the oldest go', async () => {
      const store = await opened();
      const kept = { digest: 'same', receivedAt: 1, headers: {}, body: Buffer.from('x'), skipped: 0 };
      for (let copy = 0; copy < 3; copy += 1) {
        await store.quarantine.keep({ ...kept, kind: 'unreadable', reason: 'not_json' });
      }
      const stranger = { ...kept, kind: 'not_authentic', reason: 'signature_mismatch' } as const;
      await Promise.all(Array.from({ length: 1_003 }, () => store.quarantine.keep(stranger)));
      expect((await store.counts()).quarantine).toEqual({ notAuthentic: 1_000, unreadable: 1, dropped: 3 });
      const large = { ...stranger, body: Buffer.alloc(20 * 1024 ** 2) };
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
  });
}
