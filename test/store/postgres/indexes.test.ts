import { expect, test } from 'vitest';
import { openedPostgres } from './opened-postgres.ts';

test('no index depends on the rules of a language, which an update of the system may change', async () => {
  const { session } = await openedPostgres();
  const indexed = await session.query<{ index: string; collated: string }>(
    `select i.indexrelid::regclass::text as index, c.collname as collated
     from pg_index i cross join unnest(i.indcollation::oid[]) as k (oid)
     join pg_collation c on c.oid = k.oid
     where i.indrelid in (select oid from pg_class where relnamespace = to_regnamespace($1))`,
    [session.statements.schema],
  );
  expect(indexed.length).toBeGreaterThan(15);
  expect(indexed.filter(({ collated }) => collated !== 'C')).toEqual([]);
});

test('every table has what names a deleted row, without which none can be deleted where all tables are published', async () => {
  const { session } = await openedPostgres();
  const nameless = await session.query(
    `select relname from pg_class c where relnamespace = to_regnamespace($1) and relkind = 'r' and relreplident <> 'f'
       and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`,
    [session.statements.schema],
  );
  expect(nameless).toEqual([]);
});
