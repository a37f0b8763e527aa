import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { workConnections } from '../../../src/store/postgres/connection/target.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';
import { claimedRun, dead, done, endOf, eventOf, presentTime } from '../parts.ts';

/** Stores on one schema, each of which is a process to the others, and a connection to look behind them. */
export async function sharedInbox(count: number) {
  const { connectionString, schema } = await testDatabase();
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  const stores: PostgresStore[] = [];
  const clocks: ManualClock[] = [];
  for (let index = 0; index < count; index += 1) {
    const clock = new ManualClock(presentTime);
    stores.push(await openedAt(connectionString, schema, clock));
    clocks.push(clock);
  }
  const [first] = stores;
  const [clock] = clocks;
  if (!first || !clock) throw new Error('There is no store.');
  /** How many transactions hold the lock of a living process of this inbox. */
  const transactionsOf = async (index: number) => {
    const { rowCount } = await client.query(
      `select from pg_locks l, (select hashtextextended($1, id) as key from "${schema}".processes
         order by id offset ${index} limit 1) p
       where locktype = 'advisory' and granted and (classid::bigint << 32 | objid::bigint) = p.key`,
      [`"${schema}".processes`],
    );
    return rowCount;
  };
  return {
    stores,
    first,
    /** The time of the first. */
    clock,
    connectionString,
    schema,
    client,
    /** As if the process of a store had been silent for an hour. */
    silence: (index: number) =>
      client.query(
        `update "${schema}".processes set heartbeat_at = heartbeat_at - interval '1 hour'
         where id = (select id from "${schema}".processes order by id offset ${index} limit 1)`,
      ),
    transactionsOf,
    /** Has slow settlements keep all connections of the first store's work. Returns the function that lets them end. */
    occupy: async () => {
      const gate = Promise.withResolvers<void>();
      const runs = [];
      for (let index = 0; index < workConnections.max; index += 1)
        runs.push(await claimedRun(first, eventOf(`slow-${index}`)));
      // Users' functions leave one connection to all else: a settlement keeps it that waits for a removal of its event.
      const [removed, ...others] = runs;
      const removing = new Client({ connectionString });
      await removing.connect();
      onTestFinished(() => removing.end());
      await removing.query('begin');
      await removing.query(`select from "${schema}".events where sequence = ${removed?.sequence} for update`);
      const settled = others.map((run) => first.settleWith(run, endOf(done), () => gate.promise));
      if (removed) settled.push(first.settle(removed, endOf(dead)));
      await expect.poll(() => transactionsOf(0)).toBe(workConnections.max);
      return async () => {
        gate.resolve();
        await removing.query('commit');
        expect(new Set(await Promise.all(settled))).toEqual(new Set(['settled']));
      };
    },
    /** Ends the connections that wait for the lock of a table. Resolves to how many there were. */
    endWaitingFor: async (table: string) => {
      const { rowCount } = await client.query(
        `select pg_terminate_backend(pid) from pg_locks
         where not granted and relation = '"${schema}".${table}'::regclass`,
      );
      return rowCount;
    },
  };
}

/** A store at a place where others may be open. */
export async function openedAt(
  connectionString: string,
  schema: string,
  // Its time stands still: however busy the machine is, no delivery is answered before it is known what became of it.
  clock = new ManualClock(presentTime),
): Promise<PostgresStore> {
  const store = new PostgresStore({ connectionString, pool: undefined, schema }, clock);
  await store.open();
  onTestFinished(() => store.close());
  return store;
}
