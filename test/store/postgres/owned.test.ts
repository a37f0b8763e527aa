/** What a process may own: whoever looks for that goes through the events after `ended_up_to`, and not through all. */
import { expect, test } from 'vitest';
import { done, endOf, eventOf, recordEnded, runOf } from '../parts.ts';
import { holdNextStatement, openedOnPool, openedPostgres, waitsForLock } from './opened-postgres.ts';

type Opened = Awaited<ReturnType<typeof openedPostgres>>;

const endedUpTo = async ({ session }: Opened) => {
  const [row] = await session.query<{ upTo: number }>(
    'select max(ended_up_to) as "upTo" from ringback.processes',
  );
  return row?.upTo;
};

test('a process owns nothing of what was there as it entered, and nothing of what others record', async () => {
  const opened = await openedPostgres();
  const { store, session } = opened;
  expect(await endedUpTo(opened)).toBe(0);
  await session.query("select nextval('ringback.sequences') from generate_series(1, 1000)");
  await store.keepAlive();
  await store.keepAlive();
  expect(await endedUpTo(opened)).toBe(1_000);
  await recordEnded(store, eventOf('a'), done);
  const event = await store.record(eventOf('b'), true).claimed;
  if (!event) throw new Error('It was not claimed.');
  await session.query("select nextval('ringback.sequences') from generate_series(1, 1000)");
  await store.keepAlive();
  expect(await endedUpTo(opened)).toBe(event.sequence - 1);
  expect(await store.settle(runOf(store, event), endOf(done))).toBe('settled');
  await store.keepAlive();
  expect(await endedUpTo(opened)).toBe(2_002);
  // Under another id, as after a silence.
  await session.query('delete from ringback.processes');
  await store.keepAlive();
  expect(await endedUpTo(opened)).toBe(2_002);
});

test(
  'an event that is handled for minutes keeps nothing of what comes after it',
  { tags: 'long' },
  async () => {
    const opened = await openedPostgres();
    const { store, session } = opened;
    const slow = await store.record(eventOf('slow'), true).claimed;
    if (!slow) throw new Error('It was not claimed.');
    for (let heartbeat = 1; heartbeat <= 3; heartbeat += 1) {
      for (let index = 0; index < 20; index += 1)
        await recordEnded(store, eventOf(`trace-${heartbeat}-${index}`), done);
      await store.keepAlive();
      await store.keepAlive();
      expect(await endedUpTo(opened)).toBe(slow.sequence + 20 * heartbeat);
    }
    expect(await session.query('select sequence from ringback.owned')).toEqual([{ sequence: slow.sequence }]);
    expect(await session.query('select sequence from ringback.all_owned')).toEqual([
      { sequence: slow.sequence },
    ]);
    expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 60 });
    expect(await store.settle(runOf(store, slow), endOf(done))).toBe('settled');
    expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 61 });
    await store.keepAlive();
    expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 61 });
  },
);

/** As if as many events of this process had ended one by one. */
async function endMany({ session }: Opened, count: number): Promise<void> {
  await session.query(
    `insert into ringback.ended select p.id, nextval('ringback.sequences'), currval('ringback.sequences')
     from ringback.processes p, generate_series(1, $1)`,
    [count],
  );
}

async function keepAliveForAMinute({ store }: Opened): Promise<void> {
  for (let heartbeats = 0; heartbeats < 30; heartbeats += 1) await store.keepAlive();
}

const rangesIn = ({ session }: Opened) =>
  session.query<{ process: number; first: number; last: number }>(
    'select process, first, last from ringback.ended order by process, first',
  );

test('ranges of ended events go away without dead tuples, but for those that are needed', async () => {
  const opened = await openedPostgres();
  const { store, session } = opened;
  const slow = await store.record(eventOf('slow'), true).claimed;
  if (!slow) throw new Error('It was not claimed.');
  await endMany(opened, 2_000);
  // A transaction that stays open meanwhile.
  await session.write(async () => {
    const [other] = await session.query<{ id: number }>(
      `insert into ringback.processes (host, pid, ended_up_to, still_owned) values ('other', 1, 100, array[50])
       returning id`,
    );
    if (!other) throw new Error('It was not added.');
    await session.query(
      `insert into ringback.ended values ($1, 49, 49), ($1, 50, 51), ($1, 90, 101), ($1, 102, 102), ($1 + 1, 200, 200)`,
      [other.id],
    );
    await keepAliveForAMinute(opened);
    expect(await rangesIn(opened)).toEqual([
      { process: other.id, first: 50, last: 51 },
      { process: other.id, first: 90, last: 101 },
      { process: other.id, first: 102, last: 102 },
    ]);
    // No dead tuples are left in its file, as a delete would leave them.
    const size = await session.query<{ pages: number }>(
      "select pg_relation_size('ringback.ended') / current_setting('block_size')::integer as pages",
    );
    expect(size).toEqual([{ pages: 1 }]);
  });
  expect(await session.query('select sequence from ringback.owned')).toEqual([{ sequence: slow.sequence }]);
  expect(await store.settle(runOf(store, slow), endOf(done))).toBe('settled');
  expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
});

test('while a backup reads them, ranges of ended events go away too, and events are recorded and end', async () => {
  const opened = await openedPostgres();
  const { store, session } = opened;
  await session.write(async (backup) => {
    await backup.query('lock table ringback.ended in access share mode');
    await endMany(opened, 2_000);
    await keepAliveForAMinute(opened);
    expect(await rangesIn(opened)).toEqual([]);
    const event = await store.record(eventOf('a'), true).claimed;
    if (!event) throw new Error('It was not claimed.');
    expect(await store.settle(runOf(store, event), endOf(done))).toBe('settled');
    expect(await rangesIn(opened)).toHaveLength(1);
  });
  expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
});

test('of very many ranges of ended events, some go away at a time', async () => {
  const opened = await openedPostgres();
  await endMany(opened, 45_000);
  await keepAliveForAMinute(opened);
  expect(await rangesIn(opened)).toHaveLength(5_000);
  await keepAliveForAMinute(opened);
  expect(await rangesIn(opened)).toEqual([]);
});

test('claims on more events in a row than a range has end at once', async () => {
  const { store } = await openedPostgres();
  const events = await Promise.all(
    Array.from({ length: 300 }, (_, index) => store.record(eventOf(`trace-${index}`), true).claimed),
  );
  const settled = await Promise.all(
    events.map((event) => store.settle(runOf(store, event ?? expect.unreachable()), endOf(done))),
  );
  expect(new Set(settled)).toEqual(new Set(['settled']));
  expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 300 });
});

test('a heartbeat takes nothing from a process while it records', async () => {
  const opened = await openedPostgres();
  const { store, session } = opened;
  let recording: ReturnType<typeof store.record> | undefined;
  await session.write(async (transaction) => {
    await transaction.query('lock table ringback.identities in exclusive mode');
    recording = store.record(eventOf('a'), true);
    await waitsForLock(session);
    // Its sequence may have been given; those of others are.
    await session.query("select nextval('ringback.sequences') from generate_series(1, 10)");
    await store.keepAlive();
    await store.keepAlive();
  });
  const claimed = await recording?.claimed;
  if (!claimed) throw new Error('It was not claimed.');
  await store.keepAlive();
  expect(await session.query('select sequence from ringback.owned')).toEqual([
    { sequence: claimed.sequence },
  ]);
  expect((await store.counts()).events).toMatchObject({ new: 1, done: 0 });
  expect(await store.settle(runOf(store, claimed), endOf(done))).toBe('settled');
});

test('a heartbeat that comes after a later one says nothing any more', { tags: 'long' }, async () => {
  const { store, pool, schema } = await openedOnPool();
  const late = holdNextStatement(pool);
  await store.keepAlive();
  const claimed = await store.record(eventOf('a'), true).claimed;
  if (!claimed) throw new Error('It was not claimed.');
  await store.keepAlive();
  await store.keepAlive();
  await late();
  const { rows } = await pool.query(`select sequence from "${schema}".owned`);
  expect(rows).toEqual([{ sequence: String(claimed.sequence) }]);
  await store.keepAlive();
  expect(await store.settle(runOf(store, claimed), endOf(done))).toBe('settled');
});
