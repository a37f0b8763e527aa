import { onTestFinished } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { presentTime } from '../parts.ts';

/** An open store in memory, whose tables a test can read; it is closed when the test ends. */
export async function openedSqlite(): Promise<SqliteStore> {
  const store = new SqliteStore(':memory:', new ManualClock(presentTime));
  await store.open();
  onTestFinished(() => store.close());
  return store;
}
