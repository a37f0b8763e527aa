/** What becomes of statements that Postgres doesn't answer in time: it must not be left without connections for anybody. */
import { Client, Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { Session } from '../../src/store/postgres/connection/session.ts';
import { postgres } from '../../src/store/postgres/index.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import { Logs } from '../support/logs.ts';
import { ownPostgres, testDatabase } from '../support/postgres.ts';
import { createReceiver } from '../support/public.ts';
import { deliverUntilTaken } from '../support/receiver.ts';
import { losesStandby, waitingForStandby } from '../support/synchronous-standby.ts';

/** A part of the statement that records deliveries. */
const ofRecording = 'record_events';

test('a statement that waits for a lock is ended when it is given up', { tags: 'long' }, async () => {
  const { connectionString, schema } = await testDatabase();
  const receiver = await started({ connectionString }, schema);
  const client = await connectedTo(connectionString);
  await client.query(`begin; lock table ${schema}.identities in exclusive mode`);
  const waiting = async (): Promise<readonly number[]> => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_locks where not granted and relation = '${schema}.identities'::regclass`,
    );
    return rows.map(({ pid }) => pid);
  };
  expect((await deliver(receiver, bodyOf({ traceId: 'during' }))).status).toBe(503);
  // The answer may come sooner: the connection is made for the first delivery.
  await expect.poll(waiting).not.toEqual([]);
  const [first] = await waiting();
  await expect.poll(waiting).not.toContain(first);
  await client.query('commit');
  await deliverUntilTaken(receiver, bodyOf({ traceId: 'after' }));
});

test(
  'commits that wait for a standby for long are no more than the connections that they may take',
  { tags: 'long' },
  async () => {
    const server = await ownPostgres();
    const receiver = await started({ connectionString: server.url }, 'ringback');
    const client = await connectedTo(server.url);
    // Connections are made for the first delivery, which a busy machine may take too long over.
    await deliverUntilTaken(receiver, bodyOf({ traceId: 'before' }));
    const isBack = await losesStandby(server.url);
    let deliveries = 0;
    const longestWait = async (): Promise<number> => {
      deliveries += 1;
      const { status } = await deliver(receiver, bodyOf({ traceId: `during-${deliveries}` }));
      expect(status).toBe(503);
      const { rows } = await client.query<{ seconds: number | null }>(
        `select extract(epoch from max(clock_timestamp() - query_start))::float as seconds
         from pg_stat_activity where wait_event = 'SyncRep' and query like '%${ofRecording}%'`,
      );
      return rows[0]?.seconds ?? 0;
    };
    // Twice as long as a recording may take.
    await expect.poll(longestWait).toBeGreaterThan(11);
    expect(await waitingForStandby(client, ofRecording)).toBeLessThanOrEqual(2);

    await isBack();
    await deliverUntilTaken(receiver, bodyOf({ traceId: 'after' }));
    await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 0 });
  },
);

test("a receiver stops while a table is locked, also on a pool of the user's", { tags: 'long' }, async () => {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString });
  onTestFinished(() => pool.end());
  const receiver = await started({ pool }, schema);
  const client = await connectedTo(connectionString);
  await client.query(`begin; lock table ${schema}.identities, ${schema}.processes in exclusive mode`);
  expect((await deliver(receiver, bodyOf({ traceId: 'during' }))).status).toBe(503);
  await receiver.stop({ drain: 0 });
  await client.query('commit');
});

test(
  'a session that has ended a statement closes no sooner than its connections',
  { tags: 'long' },
  async () => {
    const session = new Session({ ...(await testDatabase()), pool: undefined }, systemClock);
    await session.heartbeats.query('select');
    await expect(session.query('select pg_sleep(600)', [], 10)).rejects.toThrow('timeout');
    let isUsed = true;
    const use = session.query('select pg_sleep(0.2)').finally(() => {
      isUsed = false;
    });
    await session.query('select');
    await Promise.all([session.close().then(() => expect(isUsed).toBe(false)), use]);
  },
);

async function started(place: { connectionString: string } | { pool: Pool }, schema: string) {
  const database = postgres({ ...place, schema });
  const receiver = createReceiver({ secrets: secret, database, logger: new Logs().logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  receiver.on('*', async () => {});
  await receiver.start();
  return receiver;
}

async function connectedTo(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
