import type { Pool, PoolClient } from 'pg';
import { expect, test } from 'vitest';
import { eventOf, record } from '../parts.ts';
import { openedOnPool } from './opened-postgres.ts';

/** How many rows and entries of indexes have been read of the identities. */
async function readOf(pool: Pool, clients: ReadonlySet<PoolClient>, schema: string): Promise<number> {
  for (const client of clients) await client.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ read: string }>(
    `select t.seq_tup_read + (select sum(i.idx_tup_read) from pg_stat_all_indexes i where i.relid = t.relid) as read
     from pg_stat_all_tables t where t.schemaname = $1 and t.relname = 'identities'`,
    [schema],
  );
  return Number(rows[0]?.read);
}

test('a group with a copy reads its own identities only, also by a plan made when there were few', async () => {
  const { store, pool, clients, schema } = await openedOnPool();
  // Statistics that are brought up to date would have it planned anew.
  await pool.query(`alter table ${schema}.identities set (autovacuum_enabled = off)`);
  const recordGroup = (name: string) =>
    Promise.all(
      Array.from({ length: 20 }, (_, index) => record(store, eventOf(`${name}-${Math.floor(index / 2)}`))),
    );
  const half = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'new' : 'duplicate'));
  expect(await recordGroup('before')).toEqual(half);
  await pool.query(
    `insert into ${schema}.identities (identity, sequence)
     select sha256(n::text::bytea), nextval('${schema}.sequences') from generate_series(1, 20000) as s (n)`,
  );
  const before = await readOf(pool, clients, schema);
  expect(await recordGroup('after')).toEqual(half);
  const after = await readOf(pool, clients, schema);
  expect(after).toBeGreaterThan(before);
  expect(after - before).toBeLessThan(1_000);
});
