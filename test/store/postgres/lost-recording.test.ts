import { Client, type Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { clockWithoutWriteTimeout } from '../../support/clock-without-write-timeout.ts';
import { claimedRun, done, endOf, eventOf } from '../parts.ts';
import { answerNextStatement, holdNextStatement, openedOnPool } from './opened-postgres.ts';
import { openedAt } from './shared-inbox.ts';

test(
  'an event that is recorded behind the loss of its connection waits, and is not taken for ended',
  { tags: 'long' },
  async () => {
    const { store, connectionString, schema, clients } = await openedOnPool(clockWithoutWriteTimeout);
    const other = new Client({ connectionString });
    await other.connect();
    onTestFinished(() => other.end());

    await other.query(`begin; lock table "${schema}".identities in exclusive mode`);
    const { written } = store.record(eventOf('a'), true);
    const outcome = written.catch((error: unknown) => error);
    const backend = await backendThatWaits(other, schema);
    for (const client of clients) {
      const { processID, connection } = client as unknown as {
        readonly processID: number;
        readonly connection: { readonly stream: { destroy(): void } };
      };
      // Its backend doesn't notice, and goes on when it gets the lock.
      if (processID === backend) connection.stream.destroy();
    }
    expect(await outcome).toBeInstanceOf(Error);

    await store.keepAlive();
    expect(await store.claimEvents(10)).toEqual([]);
    await other.query('commit');
    await expect.poll(async () => (await other.query(`select from "${schema}".events`)).rowCount).toBe(1);
    await store.keepAlive();
    expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
  },
);

test('an event that is recorded when its loss has been recovered from waits, too', async () => {
  const { store, pool } = await openedOnPool(clockWithoutWriteTimeout);

  const sendHeld = holdNextStatement(pool);
  await expect(store.record(eventOf('a'), true).written).rejects.toThrow('the connection is lost');
  await store.keepAlive();
  await sendHeld();
  expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
  // What is recorded from then on is claimed in the same write again.
  expect(await store.record(eventOf('b'), true).claimed).toMatchObject({ traceId: 'b' });
});

test(
  'a slow transaction of a handler does not keep an uncertain recording from being recovered',
  { tags: 'long' },
  async () => {
    const { store, pool } = await openedOnPool(clockWithoutWriteTimeout);
    const run = await claimedRun(store, eventOf('a'));
    const gate = Promise.withResolvers<void>();
    const settled = store.settleWith(run, endOf(done), () => gate.promise);
    loseNextAnswer(pool).lose();
    const callId = 'call-1';
    await expect(store.record(eventOf('b', { callId }), true).written).rejects.toThrow(
      'the connection is lost',
    );
    // It goes behind the one that nobody knows of.
    expect(await store.record(eventOf('c', { callId }), true).claimed).toBeUndefined();
    expect(await store.claimEvents(10)).toEqual([]);
    await store.keepAlive();
    expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'b' }, { traceId: 'c' }]);
    gate.resolve();
    expect(await settled).toBe('settled');
  },
);

test('what was claimed behind an uncertain recording goes behind what was recorded', async () => {
  const { store, pool, connectionString, schema } = await openedOnPool(clockWithoutWriteTimeout);
  const other = await openedAt(connectionString, schema);
  const callId = 'call-1';
  const lose = loseNextAnswer(pool);
  const recording = store.record(eventOf('a', { callId }), true).written.catch((error: unknown) => error);
  await lose.written;
  expect(await other.record(eventOf('b', { callId }), true).claimed).toBeUndefined();
  const claimed = store.claimEvents(10);
  const looks = `select from "${schema}".claims`;
  await expect.poll(async () => (await pool.query(looks)).rowCount).toBe(1);
  lose.lose();
  expect(await recording).toBeInstanceOf(Error);
  expect(await claimed).toEqual([]);
  await store.keepAlive();
  expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }, { traceId: 'b' }]);
  // What it has claimed now, it keeps when another recording is lost.
  loseNextAnswer(pool).lose();
  await expect(store.record(eventOf('c'), true).written).rejects.toThrow('the connection is lost');
  await store.keepAlive();
  expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'c' }]);
});

/** Has the answer to the next statement outside of a transaction lost. */
function loseNextAnswer(pool: Pool) {
  const written = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  answerNextStatement(pool, async (send) => {
    await send();
    written.resolve();
    await lost.promise;
    throw new Error('the connection is lost');
  });
  return { written: written.promise, lose: () => lost.resolve() };
}

/** The backend that waits for the lock on the table. */
async function backendThatWaits(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks where not granted and relation = '"${schema}".identities'::regclass`,
  );
  return rows[0]?.pid ?? backendThatWaits(client, schema);
}
