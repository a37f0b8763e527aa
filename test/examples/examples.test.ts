import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildDelivery, deliverTo } from '../../src/testing/index.ts';
import { testDatabase, withClient } from '../support/postgres.ts';
import { type PackedProject, addPackages, packProject } from '../package/packed-project.ts';
import { startProgram } from '../package/program.ts';

const root = join(import.meta.dirname, '../..');
const secret = 'whsec_ZXhhbXBsZXM=';
let project: PackedProject;

// The examples run where users have them: in a project that has the package installed.
beforeAll(async () => {
  project = await packProject();
  for (const example of ['express', 'postgres', 'vitest']) {
    cpSync(join(root, 'examples', example), join(project.folder, example), { recursive: true });
  }
  addPackages(project, 'drizzle-orm', 'express', 'pg', 'vitest');
});
afterAll(() => project.remove());

// That it takes deliveries is shown with the other frameworks.
describe('the example express', () => {
  const cwd = () => join(project.folder, 'express');
  function start(more: Readonly<Record<string, string>>) {
    const env = { PORT: '0', WEBHOOK_SECRET: secret, ...more };
    const app = startProgram(process.execPath, ['app.ts'], { cwd: cwd(), env });
    onTestFinished(() => app.kill());
    return app;
  }

  async function portOf(app: ReturnType<typeof start>): Promise<number> {
    const { address } = (await app.line('listening')) as { address: { port: number } };
    return address.port;
  }

  it('ends with an error when its port is in use', { tags: 'long' }, async () => {
    const port = String(await portOf(start({ DATABASE: ':memory:' })));
    const second = start({ PORT: port, DATABASE: ':memory:' });
    await expect(second.line('listening')).rejects.toThrow('EADDRINUSE');
    expect(await second.stop()).toBe(1);
  });

  it('has handlers that the command of its README replays without its server', { tags: 'long' }, async () => {
    const delivery = buildDelivery('call-ended', { secret, headers: { 'x-forwarded-proto': 'https' } });
    const app = start({});
    // `localhost`, because an IP address as the host is refused if HTTPS is required.
    const url = `http://localhost:${await portOf(app)}/webhooks/calls`;
    await expect.poll(() => deliverTo(url, delivery)).toMatchObject({ status: 200 });
    await app.line('run_done');
    expect(await app.stop()).toBe(0);
    const command = join(project.folder, 'node_modules/ringback/dist/cli/main.js');
    const written = /^RINGBACK_SECRETS=\S+ npx ringback (inbox replay .*)$/m.exec(
      readFileSync(join(cwd(), 'README.md'), 'utf8'),
    )?.[1];
    const args = String(written).replace('--state dead', '--state done').split(' ');
    const output = execFileSync(process.execPath, [command, ...args], {
      cwd: cwd(),
      env: { ...process.env, RINGBACK_SECRETS: secret },
      encoding: 'utf8',
      stdio: 'pipe',
    });
    expect(JSON.parse(output)).toMatchObject({ events: 1, handlers: { 'save-call': 1 } });
  });
});

describe('the example postgres', () => {
  it('counts a call once, whichever of two processes gets its deliveries', { tags: 'long' }, async () => {
    const { connectionString, schema } = await testDatabase();
    const url = new URL(connectionString);
    url.searchParams.set('schema', schema);
    url.searchParams.set('options', `-c search_path=${schema}`);
    await withClient(connectionString, (client) => client.query(`create schema ${schema}`));
    const env = { PORT: '0', DATABASE_URL: url.href, WEBHOOK_SECRET: secret };
    const apps = [1, 2].map(() =>
      startProgram(process.execPath, ['app.ts'], { cwd: join(project.folder, 'postgres'), env }),
    );
    try {
      const bases = await Promise.all(
        apps.map(async (app) => {
          const { address } = (await app.line('listening')) as { address: { port: number } };
          return `http://127.0.0.1:${address.port}`;
        }),
      );
      const delivery = buildDelivery('call-ended', {
        secret,
        headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'calls.example.com' },
      });
      for (const base of bases)
        await expect.poll(() => deliverTo(`${base}/webhooks/calls`, delivery)).toMatchObject({ status: 200 });
      await Promise.any(apps.map((app) => app.line('run_done')));
      const counted = async (): Promise<unknown> => (await fetch(`${bases[1]}/agents`)).json();
      expect(await counted()).toEqual([{ agentId: expect.any(String), calls: 1 }]);
      // As a database does that restarts, while the connection of the app's own pool is idle.
      await withClient(connectionString, (client) =>
        client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where state = 'idle' and query like '% from "agents"'`,
        ),
      );
      await expect.poll(() => counted().catch(String)).toEqual([{ agentId: expect.any(String), calls: 1 }]);
      expect(await Promise.all(apps.map((app) => app.stop()))).toEqual([0, 0]);
    } finally {
      await Promise.all(apps.map((app) => app.kill()));
    }
  });
});

describe('the example vitest', () => {
  it('passes', { tags: 'long' }, () => {
    const runner = join(root, 'node_modules/vitest/vitest.mjs');
    const report = join(project.folder, 'report.json');
    const args = [runner, 'run', '--root', 'vitest', '--reporter', 'json', '--outputFile', report];
    execFileSync(process.execPath, args, { cwd: project.folder, stdio: 'pipe' });
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ numPassedTests: 3, numTotalTests: 3 });
  });
});
