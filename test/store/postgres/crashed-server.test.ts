import { Pool, type PoolClient } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clockWithoutWriteTimeout } from '../../support/clock-without-write-timeout.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { ownPostgres } from '../../support/postgres.ts';
import { textOf } from './opened-postgres.ts';
import { claimedRun, done, endOf, eventOf, only, record, runOf } from '../parts.ts';

describe('a Postgres server that crashes', () => {
  test(
    'gives the number of a lost transaction to another one, whose fate is not mistaken for that of the lost',
    { tags: 'long' },
    async () => {
      const { store, pool, crash, numberGiven, insteadOf } = await opened();
      await pool.query('create table orders (call_id text)');
      const run = await claimedRun(store, eventOf('a'));
      const write = (tx: PoolClient) => tx.query("insert into orders values ('call-1')");
      const settled = store.settleWith(run, endOf(done), async (tx) => {
        const { rows } = await tx.query<{ id: string }>('select pg_current_xact_id()::text as id');
        await write(tx);
        insteadOf('commit', async () => {
          await crash();
          await numberGiven(rows[0]?.id ?? '');
        });
      });
      expect(await settled.catch(() => 'unknown')).toBe('unknown');
      expect(await effects(pool)).toBe(0);
      await store.keepAlive();
      const again = runOf(store, only(await store.claimEvents(10)));
      expect(await store.settleWith(again, endOf(done), write)).toBe('settled');
      expect(await effects(pool)).toBe(1);
    },
  );

  test('loses nothing that was acknowledged, although its default for synchronous_commit is off', async () => {
    const { store, crash } = await opened({ synchronous_commit: 'off' });
    await record(store, eventOf('a'));
    await crash();
    expect(await store.events.get('a')).toBeDefined();
    const { id } = await store.quarantine.keep(delivery);
    await crash();
    expect(await store.quarantine.get(id)).toBeDefined();
  });

  test(
    'may have forgotten what it has answered a process: what it still has as claimed is claimed again',
    { tags: 'long' },
    async () => {
      const { store, crash } = await opened();
      await record(store, eventOf('a'));
      const forgotten = only(await store.claimEvents(10));
      await store.keepAlive();
      expect(await store.claimEvents(10)).toEqual([]);
      await crash();
      await store.keepAlive();
      expect(await store.claimEvents(10)).toMatchObject([{ traceId: forgotten.traceId, crashCount: 0 }]);
    },
  );
});

const delivery = {
  kind: 'unreadable',
  reason: 'not_json',
  digest: 'digest',
  receivedAt: 1,
  headers: {},
  body: Buffer.from('x'),
  skipped: 0,
} as const;

/** A store on a server of its own. */
async function opened(settings: Record<string, string> = {}) {
  // What is not synced by a commit is lost in a crash.
  const server = await ownPostgres({ settings: { wal_writer_delay: '10s', ...settings } });
  const pool = new Pool({ connectionString: server.url, max: 4 });
  onTestFinished(() => pool.end());
  pool.on('error', () => {});
  const clients = new Set<PoolClient>();
  pool.on('connect', (client) => void clients.add(client));
  const store = new PostgresStore(
    { connectionString: undefined, pool, schema: 'ringback' },
    clockWithoutWriteTimeout,
  );
  await store.open();
  onTestFinished(() => store.close());
  return {
    store,
    pool,
    crash: async () => {
      await server.stop('immediate');
      await server.start();
    },
    /** Does something else in place of a statement, which fails then. */
    insteadOf: (text: string, action: () => Promise<void>) => {
      for (const client of clients) {
        const query = client.query.bind(client) as (...args: unknown[]) => unknown;
        const replaced = (...args: unknown[]) =>
          textOf(args) === text
            ? action().then(() => Promise.reject(new Error('the connection is lost')))
            : query(...args);
        client.query = replaced as typeof client.query;
      }
    },
    /** Commits transactions until one has this number, or a higher one. */
    numberGiven: async (id: string) => {
      for (let given = 0n; given < BigInt(id);) {
        const { rows } = await pool.query<{ id: string }>('select pg_current_xact_id()::text as id');
        given = BigInt(rows[0]?.id ?? 0);
      }
    },
  };
}

async function effects(pool: Pool): Promise<number> {
  return (await pool.query('select from orders')).rowCount ?? 0;
}
