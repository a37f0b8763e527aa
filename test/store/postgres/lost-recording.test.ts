import { Client, Pool, type PoolClient } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { testDatabase } from '../../support/postgres.ts';
import { eventOf } from '../parts.ts';

test('an event that is recorded behind the loss of its connection waits, and is not taken for ended', async () => {
  const { connectionString, schema } = await testDatabase();
  const pool = new Pool({ connectionString, max: 4 });
  onTestFinished(() => pool.end());
  pool.on('error', () => {});
  const clients = new Set<PoolClient>();
  pool.on('connect', (client) => void clients.add(client));
  const store = new PostgresStore({ connectionString: undefined, pool, schema }, systemClock);
  await store.open();
  onTestFinished(() => store.close());
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

  let isOver = false;
  const alive = store.keepAlive().finally(() => (isOver = true));
  await other.query('select pg_sleep(0.3)');
  expect(isOver).toBe(false);
  await other.query('commit');
  await alive;
  expect(await store.claimEvents(10)).toMatchObject([{ traceId: 'a' }]);
});

/** The backend that waits for the lock on the table. */
async function backendThatWaits(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks where not granted and relation = '"${schema}".identities'::regclass`,
  );
  return rows[0]?.pid ?? backendThatWaits(client, schema);
}
