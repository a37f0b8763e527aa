// @module-tag long
import { describe, expect, test } from 'vitest';
import { quarantineOn } from '../../../src/store/postgres/admin/postgres-quarantine.ts';
import { isLockTimeout } from '../../../src/store/postgres/connection/statement.ts';
import { retentionOn } from '../../../src/store/postgres/admin/postgres-retention.ts';
import { storable } from '../../../src/kit/values.ts';
import { recordTimeout } from '../../../src/store/timeouts.ts';
import { quarantineBounds } from '../../../src/store/shared/bounds.ts';
import type { QuarantineRecord, QuarantineStore } from '../../../src/store/quarantine-store.ts';
import { eventOf, record, unauthenticated as delivery } from '../parts.ts';
import { sharedInbox } from './shared-inbox.ts';
import { openedPostgres, statementsThatWait, waitsForLock } from './opened-postgres.ts';

/** Does something as often as is said, all at once. */
const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** Has each process keep copies of a delivery, all at once. */
const keepIn = async (quarantines: readonly QuarantineStore[], copies: number, kept: QuarantineRecord) =>
  (await Promise.all(quarantines.map((each) => times(copies, () => each.keep(kept))))).flat();

/** On a busy machine, one may wait so long for the others that nobody waits for it any more. */
const keptUnlessLate = (quarantine: QuarantineStore) =>
  quarantine.keep(delivery).catch((error: unknown) => {
    if (!isLockTimeout(error)) throw error;
  });

/** The quarantine of one store, as several processes have it: each keeps its own deliveries one after the other. */
async function shared(processes: number) {
  const { store, session } = await openedPostgres();
  const quarantines = Array.from({ length: processes }, () => quarantineOn(session));
  return { store, session, quarantines };
}

describe('quarantine in Postgres', () => {
  test('is never beyond its bounds, however many processes keep deliveries at once', async () => {
    const { store, session, quarantines } = await shared(4);
    await session.query(
      `insert into ringback.quarantine (kind, reason, digest, received_at, headers, body)
       select 'not_authentic', 'signature_mismatch', 'd', 0, '{}', 'x'
       from generate_series(1, ${quarantineBounds.unauthenticated - 10})`,
    );
    const kept = await keepIn(quarantines, 20, { ...delivery, skipped: 1 });
    expect(kept.reduce((sum, { dropped }) => sum + dropped, 0)).toBe(70);
    const { notAuthentic, dropped } = (await store.counts()).quarantine;
    expect({ notAuthentic, dropped }).toEqual({ notAuthentic: 1_000, dropped: 150 });
    const held = await store.quarantine.unauthenticated();
    expect(kept.every(({ id }) => held.includes(id))).toBe(true);
  });

  test('has one of all copies that processes keep at once, and says which', async () => {
    const { store, quarantines } = await shared(4);
    const unreadable = { ...delivery, kind: 'unreadable', reason: 'not_json' } as const;
    const kept = await keepIn(quarantines, 5, unreadable);
    expect(new Set(kept.map(({ id }) => id)).size).toBe(1);
    const { id } = await store.quarantine.keep(delivery);
    const other = await store.quarantine.keep({ ...delivery, digest: 'other' });
    const copy = await store.quarantine.keep({ ...delivery, digest: 'other' });
    await Promise.all(
      [id, other.id, copy.id].map((each) => store.quarantine.markUnreadable(each, 'not_json')),
    );
    expect((await store.counts()).quarantine).toMatchObject({ notAuthentic: 0, unreadable: 2 });
  });

  test('can be added to, cleared, released and cleaned at once without a deadlock', async () => {
    const { store, session, quarantines } = await shared(4);
    await session.query(
      `insert into ringback.quarantine (kind, reason, digest, received_at, headers, body)
       select 'not_authentic', 'signature_mismatch', n::text, n, '{}', 'x'
       from generate_series(1, ${quarantineBounds.unauthenticated}) n`,
    );
    const retention = retentionOn(session);
    const ids = (await store.quarantine.unauthenticated()).slice(0, 120);
    const [discarded, marked, released] = [ids.slice(0, 40), ids.slice(40, 80), ids.slice(80)];
    const limits = { doneBefore: 0, deadBefore: 0, now: 0, traceIdsUntil: 9_000 };
    await Promise.all([
      ...quarantines.map((each) => times(50, () => keptUnlessLate(each))),
      ...discarded.map((id) => store.quarantine.discard(id)),
      ...marked.map((id) => store.quarantine.markUnreadable(id, 'not_json')),
      ...released.map((id) => store.quarantine.release(id, eventOf(`t-${id}`))),
      times(4, (index) => retention.clean({ ...limits, quarantineBefore: 100 * index }, undefined)),
      times(4, () => retention.eraseQuarantined(ids.toReversed())),
      times(4, async () => retention.eraseQuarantined(await store.quarantine.unauthenticated())),
    ]);
    const { notAuthentic } = (await store.counts()).quarantine;
    expect(notAuthentic).toBeLessThanOrEqual(quarantineBounds.unauthenticated);
  });

  test('that is locked delays no sender, and keeps no connection of one that has given up', async () => {
    const { store, session, clock } = await openedPostgres();
    const failed = (kept: Promise<unknown>) => kept.then(() => 'kept', String);
    await session.write(async (transaction) => {
      await transaction.query('lock table ringback.quarantine in exclusive mode');
      const outcomes = Promise.all([
        failed(store.quarantine.keep({ ...delivery, kind: 'unreadable', reason: 'not_json' })),
        failed(store.quarantine.keep(delivery)),
        failed(store.quarantine.keep({ ...delivery, digest: 'later' })),
      ]);
      await waitsForLock(session);
      await clock.runUntil(outcomes);
      expect(await outcomes).not.toContain('kept');
      // Otherwise, on a busy machine, one of them could still get the lock.
      await expect.poll(() => statementsThatWait(session)).toBe(0);
    });
    const { id } = await store.quarantine.keep({ ...delivery, digest: 'last' });
    const { deliveries } = await store.quarantine.list({ limit: 10 });
    expect(deliveries.filter(({ digest }) => digest === 'later')).toEqual([]);
    expect(deliveries).toContainEqual(expect.objectContaining({ id, digest: 'last' }));
  });

  test('keeps what is authentic at once, and nobody waiting, while handlers commit slowly', async () => {
    const { first: store, clock, occupy } = await sharedInbox(1);
    const letThemEnd = await occupy();
    const late = store.quarantine.keep(delivery).then(() => 'kept', String);
    await store.quarantine.keep({ ...delivery, kind: 'unreadable', reason: 'not_json' });
    clock.advance(recordTimeout);
    expect(await late).toContain('has not answered within');
    await letThemEnd();
  });

  test('gives a delivery that two release at once to one of them', async () => {
    const { store, quarantines } = await shared(2);
    const { id } = await store.quarantine.keep(delivery);
    const released = await Promise.all(quarantines.map((each) => each.release(id, eventOf('t'))));
    expect(released.toSorted()).toEqual(['missing', 'new']);
    expect(await record(store, eventOf('t'))).toBe('duplicate');
  });

  test('keeps a delivery whose release fails', async () => {
    const { store } = await shared(1);
    const { id } = await store.quarantine.keep(delivery);
    await expect(store.quarantine.release(id, eventOf('t', { occurredAt: 2 ** 70 }))).rejects.toThrow();
    expect(await store.quarantine.get(id)).toMatchObject({ id });
  });

  test.each(['\u0000', '\ud800', '\u{e000}', '%_\\', '\\u0000'])(
    'lists deliveries whose headers Postgres would refuse: %j',
    async (odd) => {
      const { store } = await shared(1);
      const headers = { 'x-webhook-traceid': `a${odd}b`, 'user-agent': odd };
      const { id } = await store.quarantine.keep({ ...delivery, headers });
      await store.quarantine.keep({ ...delivery, headers: { 'x-webhook-traceid': 'other' } });
      await store.quarantine.keep(delivery);
      const { deliveries } = await store.quarantine.list({ limit: 10, traceId: odd });
      expect(deliveries).toMatchObject([{ id, traceId: storable(`a${odd}b`) }]);
      expect(await store.quarantine.get(id)).toMatchObject({ headers });
      expect((await store.quarantine.list({ limit: 10 })).deliveries).toHaveLength(3);
    },
  );
});
