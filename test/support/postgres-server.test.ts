// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { installedPrograms } from './postgres-programs.ts';
import { ownPostgres, testDatabase } from './postgres.ts';

/** Runs a statement on a connection of its own. */
async function rows(connectionString: string, sql: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

it('keeps what was committed through a stop without a checkpoint and through a kill', async () => {
  const server = await ownPostgres({ settings: { max_connections: 20 } });
  const { url } = server;
  expect(await rows(url, 'show server_version')).toEqual([
    { server_version: expect.stringMatching(/^18\./) },
  ]);
  expect(await rows(url, 'show max_connections')).toEqual([{ max_connections: '20' }]);

  await rows(url, 'create table kept (number int)');
  await rows(url, 'insert into kept values (1)');
  await server.stop('immediate');
  await expect(rows(url, 'select')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await server.start();
  await rows(url, 'insert into kept values (2)');
  await server.kill();
  await server.start();
  expect(server.url).toBe(url);
  expect(await rows(url, 'select number from kept order by number')).toEqual([{ number: 1 }, { number: 2 }]);
});

const schemas: string[] = [];

it('has schemas for each test', async () => {
  const { connectionString, schema, newSchema } = await testDatabase();
  schemas.push(schema, newSchema());
  for (const name of schemas) {
    await rows(connectionString, `create schema ${name}`);
    await rows(connectionString, `create table ${name}.kept (number int)`);
  }
});

it('has dropped the schemas of a test that ended', async () => {
  const { connectionString, schema } = await testDatabase();
  expect(schemas).toHaveLength(2);
  const names = [...schemas, schema].map((name) => `'${name}'`);
  const found = `select nspname from pg_namespace where nspname in (${names.join()})`;
  expect(await rows(connectionString, found)).toEqual([]);
});

// If the programs are missing, the first test has said so.
it.skipIf(installedPrograms() === undefined)('goes when the process that started it is killed', async () => {
  const module = JSON.stringify(new URL('./postgres-server.ts', import.meta.url));
  const script = `
    import { startPostgres } from ${module};
    const { port, dataFolder } = await startPostgres();
    console.log(JSON.stringify({ port, dataFolder }));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  // If the script ends without a line, this fails at once.
  const { value: line } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const { port, dataFolder } = JSON.parse(String(line)) as { port: number; dataFolder: string };
  expect(existsSync(dataFolder)).toBe(true);

  child.kill('SIGKILL');
  await expect.poll(() => existsSync(dataFolder)).toBe(false);
  const socket = connect(port, '127.0.0.1');
  await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
