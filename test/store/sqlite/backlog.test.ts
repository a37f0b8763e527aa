// @module-tag long
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { presentTime } from '../parts.ts';

test('of each handler, 100,000 runs that wait are counted at most', async () => {
  const file = temporaryDatabase();
  const store = new SqliteStore(file, new ManualClock(presentTime));
  await store.open();
  onTestFinished(() => store.close());
  const database = new Database(file);
  onTestFinished(() => void database.close());
  database.exec(`
    insert into events (sequence, trace_id, event_name, occurred_at, received_at, facts)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < 100006)
      select i, 't' || i, 'X', i, i, '{}' from n;
    insert into runs (sequence, handler, state, attempts, due_at)
      select sequence, iif(sequence <= 100003, 'one', 'two'), 'due', 1, 0 from events`);
  expect(await store.history.backlog(presentTime)).toEqual({ waiting: 100_003, oldest: 1 });
});
