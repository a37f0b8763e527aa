/** The Postgres server that all test files share. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { openDoor } from './door.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Has the shared server's connection string at `/`. */
    readonly postgresDoor: string;
    /** The prefix of schemas that are dropped when all tests have ended. */
    readonly postgresSchemas: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const door = await openDoor({
    '/': async () => {
      server = startPostgres();
      return (await server).url;
    },
  });
  project.provide('postgresDoor', door.address);
  const schemas = `ringback_tests_${randomBytes(4).toString('hex')}`;
  project.provide('postgresSchemas', schemas);

  return async () => {
    door.close();
    // If it failed to start, the tests have reported why.
    await (await server?.catch(() => undefined))?.close();
    const given = process.env['RINGBACK_TEST_POSTGRES'];
    if (given) await dropSchemas(given, schemas);
  };
}

async function dropSchemas(connectionString: string, beginning: string): Promise<void> {
  const client = new Client({ connectionString, lock_timeout: 60_000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      'select nspname as name from pg_namespace where starts_with(nspname, $1)',
      [beginning],
    );
    // Each in a transaction of its own, because one can't hold the locks of many schemas.
    for (const { name } of rows) await client.query(`drop schema "${name}" cascade`);
  } finally {
    await client.end();
  }
}
