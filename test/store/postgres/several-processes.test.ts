import { describe, expect, test } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import {
  claimDue,
  claimedRun,
  done,
  dueAt,
  endOf,
  eventOf,
  handlerOf,
  only,
  record,
  runOf,
} from '../parts.ts';
import { ownPostgres, withClient } from '../../support/postgres.ts';
import { openedAt, sharedInbox } from './shared-inbox.ts';

describe('several processes on one Postgres', () => {
  test('one that missed its heartbeats can neither settle nor commit what another has taken over', async () => {
    const inbox = await sharedInbox(2);
    const [suspended, other] = inbox.stores;
    if (!suspended || !other) throw new Error('There are not two stores.');
    const recorded = await suspended.record(eventOf('a'), true).claimed;
    if (!recorded) throw new Error('It was not claimed.');
    const ofRecorded = runOf(suspended, recorded);
    const ofWaiting = await claimedRun(suspended, eventOf('b'));
    const stored = await claimedRun(suspended, eventOf('c'));
    await suspended.settle(stored, endOf(dueAt(0)));
    const ofStored = only(await claimDue(suspended));
    await inbox.silence(0);
    expect(await other.keepAlive()).toEqual({ takenOver: 3 });
    const effects: string[] = [];
    for (const run of [ofRecorded, ofWaiting, ofStored]) {
      const write = () => void effects.push(run.traceId);
      expect(await suspended.settleWith(run, endOf(done), write)).toBe('lost');
      expect(await suspended.settle(run, endOf(dueAt(0)))).toBe('lost');
      expect(await suspended.countAttempt(run)).toBeUndefined();
    }
    expect(effects).toEqual([]);
    expect(await other.claimEvents(10)).toMatchObject([{ traceId: 'a' }, { traceId: 'b' }]);
    expect(await claimDue(other)).toMatchObject([{ traceId: 'c' }]);
    // What it claimed now, under an id that is gone, nobody would ever take over.
    expect(await suspended.record(eventOf('e'), true).claimed).toBeUndefined();
    expect(await suspended.claimEvents(10)).toEqual([]);
    // It joins again, and goes on with what is new.
    await suspended.keepAlive();
    expect(await suspended.record(eventOf('d'), true).claimed).toMatchObject({ traceId: 'd' });
  });

  test('what one had claimed before it was taken for dead ends nothing that it claims again', async () => {
    const inbox = await sharedInbox(2);
    const [silent, other] = inbox.stores;
    if (!silent || !other) throw new Error('There are not two stores.');
    const handlers = [handlerOf('one'), handlerOf('two')];
    const recorded = await silent.record(eventOf('a'), true).claimed;
    if (!recorded) throw new Error('It was not claimed.');
    const stale = silent.runsOf(recorded, handlers);
    await inbox.silence(0);
    await other.keepAlive();
    await silent.keepAlive();
    const runs = silent.runsOf(only(await silent.claimEvents(10)), handlers);
    for (const run of stale) expect(await silent.settle(run, endOf(dueAt(0)))).toBe('lost');
    for (const run of runs) expect(await silent.settle(run, endOf(done))).toBe('settled');
    expect((await silent.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
  });

  test("a call named like one of the inbox's own locks keeps nothing out while it is claimed", async () => {
    const { first: store, client, schema } = await sharedInbox(1);
    await record(store, eventOf('a', { callId: 'reconciling' }));
    await client.query(`begin; select "${schema}".claim_events(id, 10, 1000) from "${schema}".processes`);
    expect(await record(store, eventOf('b'))).toBe('new');
    await client.query('commit');
  });

  test('one that waits for slow settlements learns which handlers are paused', { tags: 'long' }, async () => {
    const inbox = await sharedInbox(1);
    const letThemEnd = await inbox.occupy();
    expect(await inbox.first.handlers.paused()).toEqual([]);
    await letThemEnd();
  });

  test(
    'a blocked run that is dismissed as the run before it ends stays dismissed, and the next one is due',
    { tags: 'long' },
    async () => {
      const { first: store, client, schema } = await sharedInbox(1);
      const handler = handlerOf('handler', { order: 'strict' });
      const of = (traceId: string) => claimedRun(store, eventOf(traceId, { callId: 'call-1' }), handler);
      await store.settle(await of('a'), endOf(dueAt(0)));
      const run = only(await claimDue(store, handler));
      for (const traceId of ['b', 'c']) await store.requeue(await of(traceId));
      const states = async () =>
        (
          await client.query<{ state: string }>(`select state from "${schema}".runs order by sequence`)
        ).rows.map(({ state }) => state);
      expect(await states()).toEqual(['claimed', 'blocked', 'blocked']);
      await client.query('begin');
      await client.query(`update "${schema}".runs set state = 'done' where sequence = ${run.sequence + 1}`);
      const settled = store.settle(run, endOf(done));
      const waiting = `select from pg_locks waiting join pg_locks held using (pid)
      where not waiting.granted and held.relation = '"${schema}".runs'::regclass limit 1`;
      await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(1);
      await client.query('commit');
      expect(await settled).toBe('settled');
      expect(await states()).toEqual(['done', 'done', 'due']);
    },
  );

  test('one that was suspended inside a transaction blocks no other', { tags: 'long' }, async () => {
    const inbox = await sharedInbox(2);
    const [suspended, other] = inbox.stores;
    if (!suspended || !other) throw new Error('There are not two stores.');
    await expectTakenOver(suspended, other, () => inbox.silence(0));
  });

  test(
    'one that was suspended inside a transaction blocks none of another user who may end it',
    { tags: 'long' },
    async () => {
      const { url } = await ownPostgres();
      const openedAs = (username: string) =>
        openedAt(Object.assign(new URL(url), { username }).href, 'ringback');
      await withClient(url, async (client) => {
        await client.query(`create role blue login; create role green login in role pg_signal_backend, pg_read_all_stats;
          grant create on database postgres to blue`);
        const suspended = await openedAs('blue');
        await client.query(`grant usage on schema ringback to green; grant usage on all sequences in schema ringback to green;
          grant select, insert, update, delete on all tables in schema ringback to green`);
        await expectTakenOver(suspended, await openedAs('green'), () =>
          client.query(
            "update ringback.processes set heartbeat_at = heartbeat_at - interval '1 hour' where id = 1",
          ),
        );
      });
    },
  );

  test(
    'each claims events that the others have not, and of each call in order',
    { tags: 'long' },
    async () => {
      const inbox = await sharedInbox(3);
      const events = Array.from({ length: 600 }, (_, index) =>
        eventOf(`trace-${index}`, { callId: `call-${index % 150}` }),
      );
      await Promise.all(events.map((event) => inbox.first.record(event, false).written));
      const handled: string[] = [];
      const work = async (store: PostgresStore): Promise<void> => {
        const claimed = await store.claimEvents(20);
        for (const event of claimed) {
          handled.push(event.traceId);
          await store.finish(event);
        }
        if (handled.length < events.length) return work(store);
      };
      await Promise.all(inbox.stores.map(work));
      expect(new Set(handled).size).toBe(600);
      expect(handled).toHaveLength(600);
      for (let call = 0; call < 150; call += 1) {
        const ofCall = handled.map((id) => Number(id.slice(6))).filter((index) => index % 150 === call);
        expect(ofCall).toEqual(ofCall.toSorted((one, other) => one - other));
      }
    },
  );
});

/** Suspends a process inside a transaction that commits a run, and has another take the run over. */
async function expectTakenOver(
  suspended: PostgresStore,
  other: PostgresStore,
  silence: () => Promise<unknown>,
): Promise<void> {
  const run = await claimedRun(suspended, eventOf('a'));
  const begun = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const effects = suspended.settleWith(run, endOf(done), async () => {
    begun.resolve();
    await resumed.promise;
  });
  const outcome = effects.catch(() => 'failed');
  await begun.promise;
  await silence();
  const { takenOver } = await other.keepAlive();
  const claimed = await other.claimEvents(10);
  resumed.resolve();
  expect({ takenOver, claimed, outcome: await outcome }).toMatchObject({
    takenOver: 1,
    claimed: [{ traceId: 'a' }],
    outcome: 'failed',
  });
}
