import { onTestFinished } from 'vitest';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { ManualClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';
import { presentTime } from '../parts.ts';

/** An open store in a schema of its own, and a session to look behind it. Both are closed when the test ends. */
export async function openedPostgres(): Promise<{
  readonly store: Store;
  readonly session: Session;
}> {
  const place = { ...(await testDatabase()), pool: undefined };
  const clock = new ManualClock(presentTime);
  const store = new PostgresStore(place, clock);
  const session = new Session(place, clock);
  onTestFinished(() => session.close());
  await store.open();
  onTestFinished(() => store.close());
  // What its transactions are is nothing to these tests, which are about what is asked outside of one.
  return { store: store as unknown as Store, session };
}
