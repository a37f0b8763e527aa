/** A Postgres server for each run, from the programs that npm has installed. */
import { Client } from 'pg';
import { type PostgresServer, startPostgres } from '../../test/support/postgres-server.ts';
import type { Backend, Counter } from '../backend.ts';

/** Every commit is on the disk before it is confirmed. */
const settings = { fsync: 'on', synchronous_commit: 'on' };

/** How to count, in SQL: all events, and those of them that are not done. */
export interface Counts {
  readonly stored: string;
  readonly open: string;
}

/** The inbox of (g). */
export const events: Counts = {
  stored: 'select count(*) from ringback.events',
  open: `select (select count(*) from ringback.waiting) + (select count(*) from ringback.claims)
    + (select count(*) from ringback.owned) + (
      select count(*) from ringback.runs where state in ('due', 'claimed', 'blocked')) as count`,
};

/** The table of (h), whose rows have no mark. */
export const inserted: Counts = { stored: 'select count(*) from events', open: 'select 0 as count' };

/** The jobs of (i). A completed job stays in the table for a week. */
export const jobs: Counts = {
  stored: "select count(*) from pgboss.job where name = 'events'",
  open: "select count(*) from pgboss.job where name = 'events' and state <> 'completed'",
};

/** The jobs of (j). It deletes those that are done: their ids show how many there were. */
export const keyedJobs: Counts = {
  stored: `select coalesce(pg_sequence_last_value(pg_get_serial_sequence('graphile_worker._private_jobs', 'id')), 0)
    as count`,
  open: 'select count(*) from graphile_worker._private_jobs',
};

/** Starts a Postgres whose events are counted by these queries. */
export async function postgresBackend(counts: Counts): Promise<Backend> {
  const server = await startPostgres({ settings });
  return {
    address: server.url,
    counter: () => openCounter(server.url, counts),
    close: () => server.close(),
  };
}

/** The version and the settings of durability, as the server reports them. */
export async function describePostgres(): Promise<string> {
  const server = await startPostgres({ settings });
  try {
    return await described(server);
  } finally {
    await server.close();
  }
}

async function described({ url }: PostgresServer): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const shown = async (name: string) =>
      (await client.query<Record<string, string>>(`show ${name}`)).rows[0]?.[name];
    const shownSettings: string[] = [];
    for (const name of Object.keys(settings)) shownSettings.push(`${name} ${await shown(name)}`);
    return `Postgres ${await shown('server_version')} (${shownSettings.join(', ')})`;
  } finally {
    await client.end();
  }
}

async function openCounter(url: string, { stored, open }: Counts): Promise<Counter> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const count = async (sql: string) => Number((await client.query<{ count: string }>(sql)).rows[0]?.count);
  return {
    last: () => count(stored),
    storedSince: async (mark) => (await count(stored)) - mark,
    open: () => count(open),
    close: () => client.end(),
  };
}
