// @module-tag long
import { expect, test } from 'vitest';
import { presentTime } from '../parts.ts';
import { openedPostgres } from './opened-postgres.ts';

test('of each handler, 100,000 runs that wait are counted at most', async () => {
  const { store, session } = await openedPostgres();
  await session.query(`
    insert into ringback.events (sequence, trace_id, event_name, occurred_at, received_at, facts)
      select n, 't' || n, 'X', n, n, '{}' from generate_series(1, 100006) as s (n)`);
  await session.query(`
    insert into ringback.runs (sequence, handler, state, attempts, due_at)
      select n, case when n <= 100003 then 'one' else 'two' end, 'due', 1, 0 from generate_series(1, 100006) as s (n)`);
  expect(await store.history.backlog(presentTime)).toEqual({ waiting: 100_003, oldest: 1 });
});
