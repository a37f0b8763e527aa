import { describe, expect, test } from 'vitest';
import { deadAfter } from '../../../src/store/postgres/work/processes.ts';
import { heartbeatInterval } from '../../../src/store/timeouts.ts';
import { behindProxy, ownPostgres, testDatabase, withClient } from '../../support/postgres.ts';
import { losesStandby, waitingForStandby } from '../../support/synchronous-standby.ts';
import {
  type AnyStore,
  claimDue,
  claimedRun,
  done,
  dueAt,
  endOf,
  eventOf,
  handlerOf,
  only,
  presentTime,
  record,
  recordEnded,
  runOf,
} from '../parts.ts';
import { openedPostgres, untilAnotherWaits } from './opened-postgres.ts';
import { openedAt, sharedInbox } from './shared-inbox.ts';

type SharedInbox = Awaited<ReturnType<typeof sharedInbox>>;

/** The first process owns events: all have ended, except one. */
async function ownsOne({ first }: SharedInbox): Promise<void> {
  for (const traceId of ['a', 'open', 'b']) {
    const event = (await first.record(eventOf(traceId), true).claimed) ?? expect.unreachable();
    if (traceId !== 'open') expect(await first.settle(runOf(first, event), endOf(done))).toBe('settled');
  }
}

/** Keeps a process alive, which has to wait: another one has truncated `ended`, and commits only then. */
async function keptAliveBesideClearing(store: AnyStore, { client, schema }: SharedInbox) {
  // So many of a process that is gone that they are removed.
  await client.query(`insert into "${schema}".ended select 1000, n, n from generate_series(1, 2000) n`);
  // Clearing alone waits for the table for a moment only, and then deletes rows instead.
  await client.query(`begin; lock table "${schema}".ended; select "${schema}".clear_ended()`);
  const alive = store.keepAlive();
  const waiting = `select from pg_locks where not granted and relation = '"${schema}".ended'::regclass`;
  await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(1);
  await client.query('commit');
  return alive;
}

describe('what a process had claimed', () => {
  test('one that can not give its claims back as it leaves is not taken for dead', async () => {
    const inbox = await sharedInbox(2);
    const [leaving, other] = inbox.stores;
    if (!leaving || !other) throw new Error('There are not two stores.');
    expect(await leaving.record(eventOf('a'), true).claimed).toMatchObject({ traceId: 'a' });
    await inbox.client.query('begin');
    await inbox.client.query(
      'select pg_advisory_xact_lock(hashtextextended($1, (select min(id) from ' +
        `"${inbox.schema}".processes)))`,
      [`"${inbox.schema}".processes`],
    );
    await leaving.close();
    await inbox.client.query('commit');
    expect(await other.keepAlive()).toEqual({ takenOver: 0 });
    expect(await other.claimEvents(10)).toMatchObject([{ traceId: 'a', crashCount: 0 }]);
  });

  test(
    'one whose connection was lost without a word heartbeats on another at once',
    { tags: 'long' },
    async () => {
      const { connectionString, schema } = await testDatabase();
      const { proxy, connectionString: throughProxy } = await behindProxy(connectionString);
      const behind = await openedAt(throughProxy, schema);
      const other = await openedAt(connectionString, schema);
      expect(await behind.record(eventOf('a'), true).claimed).toMatchObject({ traceId: 'a' });
      await behind.keepAlive();
      const resume = proxy.silence();
      const lost = behind.keepAlive();
      resume();
      // The time of a connection that no answer comes from is the driver's.
      expect(await lost).toEqual({ takenOver: 0 });
      expect(await other.keepAlive()).toEqual({ takenOver: 0 });
    },
  );

  test(
    'is taken over although a claim of the one that takes over waits for a connection',
    { tags: 'long' },
    async () => {
      const inbox = await sharedInbox(2);
      const { first: store, clock, client, schema } = inbox;
      await inbox.stores[1]?.record(eventOf('a'), true).written;
      await inbox.silence(1);
      const letThemEnd = await inbox.occupy();
      const claimed = store.claimEvents(10);
      await client.query(`begin; lock table "${schema}".identities in exclusive mode`);
      const lost = store.record(eventOf('b'), true).written.catch((error: unknown) => error);
      await expect.poll(() => inbox.endWaitingFor('identities')).toBe(1);
      expect(await lost).toBeInstanceOf(Error);
      await client.query('commit');

      const alive = store.keepAlive();
      await clock.timer(heartbeatInterval);
      clock.advance(heartbeatInterval);
      expect(await alive).toEqual({ takenOver: 1 });
      await letThemEnd();
      await claimed;
      await store.keepAlive();
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a', crashCount: 1 }]);
    },
  );

  test(
    'is taken over although a lost recording of the one that takes over goes on',
    { tags: 'long' },
    async () => {
      const inbox = await sharedInbox(2);
      const { first: store, client, schema } = inbox;
      await inbox.stores[1]?.record(eventOf('a'), true).written;
      await inbox.silence(1);
      await client.query(`begin; lock table "${schema}".identities in exclusive mode`);
      const lost = store.record(eventOf('b'), true).written.catch((error: unknown) => error);
      await expect.poll(() => inbox.endWaitingFor('identities')).toBe(1);
      expect(await lost).toBeInstanceOf(Error);
      await client.query('commit');
      // As if it went on without its connection.
      await client.query(
        `begin; select pg_advisory_xact_lock_shared(hashtextextended('"${schema}".recordings', min(id)))
       from "${schema}".processes`,
      );
      expect(await store.keepAlive()).toEqual({ takenOver: 1 });
      expect(await store.claimEvents(10)).toEqual([]);
      await client.query('commit');
      await store.keepAlive();
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
    },
  );

  test(
    'is left alone by one that missed its own heartbeats, until the others could heartbeat again',
    { tags: 'long' },
    async () => {
      const inbox = await sharedInbox(2);
      const { first: store, clock } = inbox;
      await inbox.stores[1]?.record(eventOf('a'), true).written;
      await store.keepAlive();
      // As if the database had been away for all.
      await inbox.silence(1);
      clock.advance(30_000);
      for (let waited = 0; waited < deadAfter * 1_000; waited += heartbeatInterval) {
        expect(await store.keepAlive()).toEqual({ takenOver: 0 });
        clock.advance(heartbeatInterval);
      }
      expect(await store.keepAlive()).toEqual({ takenOver: 1 });
    },
  );

  test('is announced to those that wait for work, as often as it takes', { tags: 'long' }, async () => {
    const inbox = await sharedInbox(2);
    const [waiting, other] = inbox.stores;
    if (!waiting || !other) throw new Error('There are not two stores.');
    await waiting.announce(['handler']);
    let looks = 0;
    waiting.subscribe(() => (looks += 1));
    const runs = [await claimedRun(other, eventOf('a')), await claimedRun(other, eventOf('b'))];
    for (const [place, run] of runs.entries()) {
      await other.requeue(run);
      await waiting.keepAlive();
      expect(looks).toBe(place + 1);
      await waiting.settle(only(await claimDue(waiting)), endOf(done));
    }
    await waiting.keepAlive();
    expect(looks).toBe(2);
  });

  test('is taken over although what another had can not be', { tags: 'long' }, async () => {
    const inbox = await sharedInbox(3);
    const [first, second, other] = inbox.stores;
    if (!first || !second || !other) throw new Error('There are not three stores.');
    const stuck = await first.record(eventOf('a'), true).claimed;
    await second.record(eventOf('b'), true).written;
    await inbox.silence(0);
    await inbox.silence(1);
    await inbox.client.query(
      `alter table "${inbox.schema}".waiting add constraint stuck check (sequence <> ${stuck?.sequence})`,
    );
    await expect(other.keepAlive()).rejects.toThrow('stuck');
    expect(await other.claimEvents(10)).toMatchObject([{ traceId: 'b' }]);
    await inbox.client.query(`alter table "${inbox.schema}".waiting drop constraint stuck`);
    expect(await other.keepAlive()).toEqual({ takenOver: 1 });
  });

  test(
    'is left to one that heartbeats again in time, and so are its transactions',
    { tags: 'long' },
    async () => {
      const inbox = await sharedInbox(3);
      const [dead, back, other] = inbox.stores;
      if (!dead || !back || !other) throw new Error('There are not three stores.');
      const { connectionString, client, schema } = inbox;
      await dead.record(eventOf('a'), true).written;
      await back.record(eventOf('b'), true).written;
      await inbox.silence(0);
      await inbox.silence(1);
      const id = `(select id from "${schema}".processes order by id offset 1 limit 1)`;
      await withClient(connectionString, async (writing) => {
        await writing.query(`begin; select "${schema}".lives(${id})`);
        // The dead one is taken over first, and that waits here.
        await client.query(`begin; select from "${schema}".events for update`);
        const alive = other.keepAlive();
        const waiting =
          'select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid';
        await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(1);
        await client.query(
          `update "${schema}".processes set heartbeat_at = clock_timestamp() where id = ${id}`,
        );
        await client.query('commit');
        expect(await alive).toEqual({ takenOver: 1 });
        await writing.query('commit');
      });
      expect(await other.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
    },
  );

  test(
    'is taken over only when a commit no longer waits for a synchronous standby',
    { tags: 'long' },
    async () => {
      const server = await ownPostgres();
      const url = new URL(server.url);
      // Only recordings wait for the standby.
      url.searchParams.set('options', '-c synchronous_commit=local');
      const [first, other] = [await openedAt(url.href, 'ringback'), await openedAt(url.href, 'ringback')];
      await withClient(url.href, async (client) => {
        await first.record(eventOf('a'), true).written;
        const isBack = await losesStandby(server.url);
        const recorded = first.record(eventOf('b'), true).written.catch(() => 'given up');
        await expect.poll(() => waitingForStandby(client, 'record_events')).toBe(1);
        await client.query(
          `update ringback.processes set heartbeat_at = heartbeat_at - interval '1 hour'
         where id = (select min(id) from ringback.processes)`,
        );
        expect(await other.keepAlive()).toEqual({ takenOver: 0 });
        expect(await waitingForStandby(client, 'record_events')).toBe(1);
        await isBack();
        await recorded;
        await expect.poll(() => other.keepAlive()).toEqual({ takenOver: 2 });
      });
    },
  );

  test(
    'is due when it is given back, although the clock of the machine that had claimed it was fast',
    { tags: 'long' },
    async () => {
      const { stores, clock, silence } = await sharedInbox(3);
      const [leaving, dying, other] = stores;
      if (!leaving || !dying || !other) throw new Error('There are not three stores.');
      const now = Date.now();
      clock.setWallClock(now + 7_200_000 - clock.now());
      const retried = async (store: AnyStore, traceId: string, decidedAt: number) => {
        const event = eventOf(traceId, { callId: traceId });
        await recordEnded(store, event, dueAt(now + 3_600_000), { decidedAt });
        return only(await claimDue(store, undefined, { now: now + 7_200_000 }));
      };
      const requeued = await retried(leaving, 'requeued', clock.now());
      await retried(leaving, 'left', clock.now());
      await retried(dying, 'taken over', presentTime);
      await leaving.requeue(requeued);
      await leaving.close();
      await silence(0);
      await other.keepAlive();
      // The clocks of this machine and of the database may differ a little.
      const due = await claimDue(other, undefined, { now: now + 600_000 });
      expect(due.map(({ traceId }) => traceId)).toEqual(['requeued', 'left', 'taken over']);
    },
  );

  /** Three processes, of which the first has died while it held an event, and the second has taken that over. */
  async function afterOneDeath() {
    const { stores, silence } = await sharedInbox(3);
    const [first, second, third] = stores;
    if (!first || !second || !third) throw new Error('There are not three stores.');
    await first.record(eventOf('a'), true).written;
    await silence(0);
    await second.keepAlive();
    return { first, second, third, silence };
  }

  test('counts for a death only if the process had begun to try it, but for the first', async () => {
    const { first, second, third, silence } = await afterOneDeath();
    const routed = only(await second.claimEvents(10));
    expect(routed).toMatchObject({ crashCount: 1, readingCrashes: 0 });
    // To find its handlers.
    await second.beginReading(routed);
    await second.endReading(routed);
    await silence(0);
    await third.keepAlive();
    const event = only(await third.claimEvents(10));
    expect(event).toMatchObject({ crashCount: 1, readingCrashes: 0 });
    await third.beginReading(event);
    await silence(0);
    await first.keepAlive();
    await first.keepAlive();
    expect(await first.claimEvents(10)).toMatchObject([{ crashCount: 2, readingCrashes: 1 }]);
  });

  test('counts for a death if it has read the event to find its other handlers while a run of it went on', async () => {
    const { first, second, third, silence } = await afterOneDeath();
    const [run] = second.runsOf(only(await second.claimEvents(10)), [handlerOf('one'), handlerOf('two')]);
    if (run) await second.countAttempt(run);
    await silence(0);
    await third.keepAlive();
    const again = only(await claimDue(third, handlerOf('one')));
    await third.beginReading(again);
    await third.endReading(again);
    await third.countAttempt(again);
    const event = only(await third.claimEvents(10));
    await third.beginReading(event);
    await third.endReading(event);
    await silence(0);
    await first.keepAlive();
    await first.keepAlive();
    expect(await first.claimEvents(10)).toMatchObject([{ crashCount: 2, readingCrashes: 0 }]);
  });

  test('is taken over whole: what it has had for minutes, and what it claimed since its last heartbeat', async () => {
    const inbox = await sharedInbox(2);
    const other = inbox.stores[1];
    for (const traceId of ['slow', 'slower', 'b', 'c']) {
      await inbox.first.record(eventOf(traceId), true).written;
      await inbox.first.keepAlive();
      await inbox.first.keepAlive();
    }
    await inbox.first.record(eventOf('d'), true).written;
    await inbox.silence(0);
    expect(await other?.keepAlive()).toEqual({ takenOver: 5 });
    const taken = await other?.claimEvents(10);
    expect(taken?.map(({ traceId }) => traceId)).toEqual(['slow', 'slower', 'b', 'c', 'd']);
  });

  test('stays as it was once another has begun to take it over: it claims nothing more', async () => {
    const { store, session } = await openedPostgres();
    await record(store, eventOf('a'));
    let claimed: ReturnType<typeof store.claimEvents> | undefined;
    await session.write(async (transaction) => {
      await transaction.query(
        "select pg_advisory_xact_lock(hashtextextended('ringback.processes', id)) from ringback.processes",
      );
      await transaction.query('delete from ringback.processes');
      claimed = store.claimEvents(10);
      await Promise.race([claimed, untilAnotherWaits(transaction)]);
    });
    expect(await claimed).toEqual([]);
    expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
  });

  test('is taken over without what has ended, although the ends are being cleared', async () => {
    const inbox = await sharedInbox(2);
    const other = inbox.stores[1] ?? expect.unreachable();
    await ownsOne(inbox);
    await inbox.silence(0);
    expect(await keptAliveBesideClearing(other, inbox)).toEqual({ takenOver: 1 });
    expect(await other.claimEvents(10)).toMatchObject([{ traceId: 'open' }]);
  });

  test('is not given back after a lost recording, nor what has ended while the ends are being cleared', async () => {
    const inbox = await sharedInbox(1);
    const { first: store, client, schema } = inbox;
    await ownsOne(inbox);
    await client.query(`begin; lock table "${schema}".identities in exclusive mode`);
    const lost = store.record(eventOf('c'), true).written.catch((error: unknown) => error);
    await expect.poll(() => inbox.endWaitingFor('identities')).toBe(1);
    expect(await lost).toBeInstanceOf(Error);
    await client.query('commit');
    await keptAliveBesideClearing(store, inbox);
    expect(await store.claimEvents(10)).toEqual([]);
  });
});
