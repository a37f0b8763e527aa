/**
 * The server that all test files share. It starts when the first of them asks for it: a run of tests that need none
 * doesn't wait for one. The workers ask over loopback, because this runs in the process that they are started from.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the shared server's connection string, as text. */
    readonly postgresDoor: string;
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

  return async () => {
    door.close();
    door.closeAllConnections();
    // If it never started, the tests have told why.
    await (await server?.catch(() => undefined))?.close();
  };
}
