/** The inboxes of tests that run on Postgres: a schema for each file that the test names as its database. */
import { onTestFinished } from 'vitest';
import { postgres } from '../../src/store/postgres/index.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { closeTimeout } from '../../src/store/postgres/connection/session.ts';
import type { SharedPostgres } from './postgres.ts';
import type { Clock, StoreFactory } from './public.ts';

/**
 * A clock that makes the store wait 20 times as long, for a database that a busy machine slows down. The timeout of
 * closing runs by the machine's time, so that a test that moves time on doesn't cut connections: each costs the server
 * a process.
 */
const slowed = (clock: Clock): Clock => ({
  now: () => clock.now(),
  elapsed: () => clock.elapsed(),
  after: (ms, action) => (ms === closeTimeout ? systemClock : clock).after(20 * ms, action),
});

interface Inbox extends StoreFactory {
  readonly schema: string;
}

export class PostgresInboxes {
  readonly #server: SharedPostgres;
  readonly #ofFiles = new Map<string, Inbox>();

  constructor(server: SharedPostgres) {
    this.#server = server;
  }

  /** The inbox of this file for the test that runs, or a new one for `:memory:`. */
  inboxOf(database: string): Inbox {
    const known = this.#ofFiles.get(database);
    if (known) return known;
    const inbox = this.#newInbox();
    if (database !== ':memory:') {
      this.#ofFiles.set(database, inbox);
      onTestFinished(() => void this.#ofFiles.delete(database));
    }
    return inbox;
  }

  /** Where another process finds the inbox of this file. */
  urlOf(database: string): string {
    const url = new URL(this.#server.connectionString);
    url.searchParams.set('schema', this.inboxOf(database).schema);
    return url.href;
  }

  /** Runs a statement that names the inbox's tables without their schema. */
  ask(database: string, statement: string): Promise<unknown[]> {
    const { schema } = this.inboxOf(database);
    return this.#server.schemas.ask(schema, statement);
  }

  #newInbox(): Inbox {
    const { schemas } = this.#server;
    const schema = schemas.take();
    // The type of the transaction passed to `ctx.commit` doesn't matter here.
    const factory = postgres({ pool: schemas.pool, schema }) as unknown as StoreFactory;
    return { schema, createStore: (clock) => factory.createStore(slowed(clock)) };
  }
}
