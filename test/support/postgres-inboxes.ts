/** The inboxes of tests that run on Postgres: a schema for every file that stands for one on SQLite. */
import { onTestFinished } from 'vitest';
import { postgres } from '../../src/store/postgres/index.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { closeTimeout } from '../../src/store/postgres/connection/session.ts';
import type { SharedPostgres } from './postgres.ts';
import type { Clock, StoreFactory } from './public.ts';

/**
 * For a store that doesn't give up a delivery where a busy machine makes the database slow. And where a test moves time on until
 * a receiver has stopped, its statements take the machine's time: each connection that is cut costs the server a process.
 */
const patient = (clock: Clock): Clock => ({
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

  /** What a statement returns that names the inbox's tables without their schema. */
  ask(database: string, statement: string): Promise<unknown[]> {
    const { schema } = this.inboxOf(database);
    return this.#server.schemas.ask(schema, statement);
  }

  #newInbox(): Inbox {
    const { schemas } = this.#server;
    const schema = schemas.take();
    // These tests say nothing of what is lent to `ctx.commit`.
    const factory = postgres({ pool: schemas.pool, schema }) as unknown as StoreFactory;
    return { schema, createStore: (clock) => factory.createStore(patient(clock)) };
  }
}
