/** What Postgres must not compile (`jit`): before version 18, it takes a claim for so expensive that it would, for seconds. */
import { expect, test } from 'vitest';
import { eventOf, record } from '../parts.ts';
import { openedOnPool } from './opened-postgres.ts';

test('neither a claim is compiled, nor what locks out deliveries', async () => {
  const { store, pool, schema } = await openedOnPool(undefined, '-c jit=on');
  await pool.query(`
    create function ${schema}.note() returns trigger language plpgsql as
      $$ begin insert into ${schema}.noted values (tg_table_name, current_setting('jit')); return new; end $$;
    create table ${schema}.noted (table_name text, jit text);
    create trigger noted before insert on ${schema}.claims execute function ${schema}.note();
    create trigger noted before truncate on ${schema}.ended execute function ${schema}.note();
    insert into ${schema}.ended select 0, n, n from generate_series(1, 2000) as n`);
  await record(store, eventOf('a'));
  expect(await store.claimEvents(10)).toHaveLength(1);
  await pool.query(`select ${schema}.clear_ended()`);
  expect((await pool.query(`select * from ${schema}.noted`)).rows).toEqual([
    { table_name: 'claims', jit: 'off' },
    { table_name: 'ended', jit: 'off' },
  ]);
});
