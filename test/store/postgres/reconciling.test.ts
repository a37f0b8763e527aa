import { expect, onTestFinished, test } from 'vitest';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { reconciledOf } from '../conformance/reconciling.ts';
import { eventOf, presentTime, record } from '../parts.ts';
import { answerNextStatement, openedOnPool, openedPostgres } from './opened-postgres.ts';

const pauses = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400];
// As a process does that records in a transaction, and says nothing more.
const holdOn = "select pg_advisory_xact_lock_shared(hashtextextended('ringback.reconciling', 0))";

test('behind a process that is lost while it records, a reconciled event is retried, and deliveries are accepted', async () => {
  const { store, session, clock } = await openedPostgres();
  const { recorded } = await session.write(async (transaction) => {
    await transaction.query(holdOn);
    const first = record(store, reconciledOf());
    const second = record(store, reconciledOf('call-3'));
    for (const ms of pauses.slice(0, 3)) {
      await clock.timer(ms);
      expect(await store.record(eventOf(`behind-${ms}`), true).claimed).toMatchObject({
        traceId: `behind-${ms}`,
      });
      clock.advance(ms);
    }
    await clock.timer(400);
    return { recorded: Promise.all([first, second]) };
  });
  clock.advance(400);
  expect(await recorded).toEqual(['new', 'new']);
});

test('a reconciled event is given up after some tries, and the next one is tried', async () => {
  const { store, session, clock } = await openedPostgres();
  await session.write(async (transaction) => {
    await transaction.query(holdOn);
    const refused = record(store, reconciledOf()).catch((error: unknown) => error);
    for (const ms of pauses) {
      await clock.timer(ms);
      clock.advance(ms);
    }
    expect(await refused).toMatchObject({ message: expect.stringContaining('recording deliveries') });
  });
  expect(await record(store, reconciledOf())).toBe('new');
});

test('deliveries bring keys only once there is a reconciled event, also if another process has recorded it', async () => {
  const { store, session } = await openedPostgres();
  const reconciled = "select from ringback.settings where name = 'reconciled'";
  await record(store, eventOf('first', { callId: 'call-1' }));
  await record(store, reconciledOf());
  expect(await session.query(reconciled)).toEqual([]);
  await record(store, reconciledOf('call-2'));
  expect(await session.query(reconciled)).toHaveLength(1);
  expect(await record(store, eventOf('late', { callId: 'call-2' }))).toBe('duplicate');
});

test(
  'a reconciled event whose answer is late is placed before what is claimed of its call',
  { tags: 'long' },
  async () => {
    const { store, pool, connectionString, schema } = await openedOnPool();
    const other = new PostgresStore(
      { connectionString, pool: undefined, schema },
      new ManualClock(presentTime),
    );
    await other.open();
    onTestFinished(() => other.close());
    const [written, reported] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    answerNextStatement(pool, async (send) => {
      const answer = await send();
      written.resolve();
      await reported.promise;
      return answer;
    });
    const placed: (string | undefined)[] = [];
    const reconciled = store
      .record(reconciledOf('call-1'), true)
      .claimed.then((event) => placed.push(event?.traceId));
    await written.promise;
    expect(
      await other.record(eventOf('b', { callId: 'call-1', eventName: 'CallHandler.CallStarted' }), true)
        .claimed,
    ).toBeUndefined();
    const claimed = store
      .claimEvents(10)
      .then((events) => placed.push(...events.map(({ traceId }) => traceId)));
    await expect.poll(async () => (await pool.query(`select from "${schema}".claims`)).rowCount).toBe(1);
    await pool.query('select 1');
    reported.resolve();
    await Promise.all([reconciled, claimed]);
    expect(placed).toEqual([reconciledOf('call-1').traceId, 'b']);
  },
);
