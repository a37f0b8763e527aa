/**
 * The server that all test files share. It starts when the first of them asks for it: a run of tests that need none
 * doesn't wait for one. The workers ask over loopback, because this runs in the process that they are started from.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the shared server's connection string, as text. */
    readonly postgresDoor: string;
    /** What the names of schemas begin with that are to be dropped when all tests have ended. */
    readonly postgresSchemas: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const door = createServer((_request, response) => {
    server ??= startPostgres();
    server.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  project.provide('postgresDoor', `http://127.0.0.1:${(door.address() as AddressInfo).port}`);
  const schemas = `ringback_tests_${randomBytes(4).toString('hex')}`;
  project.provide('postgresSchemas', schemas);

  return async () => {
    door.close();
    door.closeAllConnections();
    // If it never started, the tests have told why.
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
    // Each by itself: a transaction can't hold the locks of many.
    for (const { name } of rows) await client.query(`drop schema "${name}" cascade`);
  } finally {
    await client.end();
  }
}
