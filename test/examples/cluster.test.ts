// @module-tag long
import { request } from 'node:http';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildDelivery } from '../../src/testing/index.ts';
import { type PackedProject, addPackages, packProject } from '../package/packed-project.ts';
import { type Line, type Program, startProgram } from '../package/program.ts';

const root = join(import.meta.dirname, '../..');
const secret = 'whsec_ZXhhbXBsZXM=';
let project: PackedProject;

beforeAll(async () => {
  project = await packProject();
  addPackages(project, 'express');
  cpSync(join(root, 'examples/cluster'), project.folder, { recursive: true });
  withTwoWorkers('app.ts', 'count < 4');
  withTwoWorkers('pm2.config.cjs', 'instances: 4');
});
afterAll(() => project.remove());

/** Two show what four do, and take half as long to start. */
function withTwoWorkers(file: string, four: string): void {
  const path = join(project.folder, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(four);
  writeFileSync(path, text.replace(four, four.replace('4', '2')));
}

/** Starts a program in the project. */
function start(args: readonly string[], more: Readonly<Record<string, string>> = {}): Program {
  const env = {
    PORT: '0',
    WEBHOOK_SECRET: secret,
    PM2_HOME: join(project.folder, 'pm2'),
    // It would ask the network.
    PM2_DISABLE_VERSION_CHECK: 'true',
    ...more,
  };
  const program = startProgram(process.execPath, args, { cwd: project.folder, env });
  onTestFinished(() => program.kill());
  return program;
}

/** Delivers over a connection of its own: the primary process hands each connection to another worker. */
function deliverAlone(port: number, traceId: string, transcript = ''): Promise<number | undefined> {
  const { body, headers } = buildDelivery(
    { eventName: 'CallHandler.CallEnded', traceId, payload: { call_id: `call of ${traceId}`, transcript } },
    { secret, headers: { 'content-type': 'application/json', 'x-forwarded-proto': 'https' } },
  );
  const named = { ...headers, host: 'calls.example.com' };
  const answered = Promise.withResolvers<number | undefined>();
  request({ host: '127.0.0.1', port, path: '/webhooks/calls', method: 'POST', agent: false, headers: named })
    .on('response', (response) => {
      response.resume().once('end', () => answered.resolve(response.statusCode));
    })
    .on('error', answered.reject)
    .end(body);
  return answered.promise;
}

/** As the platform does, again while it is told that the event can't be stored now: the workers share one file. */
async function deliverUntilTaken(...delivery: Parameters<typeof deliverAlone>): Promise<number | undefined> {
  let status: number | undefined;
  do status = await deliverAlone(...delivery);
  while (status === 503);
  return status;
}

function different(lines: readonly Line[], field: string): number {
  return new Set(lines.map((line) => line[field])).size;
}

const traceIds = Array.from({ length: 20 }, (_, index) => `trace-${index}`);

/** Waits until both workers listen, and delivers each event three times at once, so that its copies meet in different workers. */
async function deliverToBoth(app: Program): Promise<number> {
  const [first] = (await app.lines('listening', 2)) as unknown as { address: { port: number } }[];
  const port = first?.address.port ?? 0;
  const copies = [...traceIds, ...traceIds, ...traceIds];
  const answers = await Promise.all(
    copies.map((traceId) => deliverUntilTaken(port, traceId, 'x'.repeat(60_000))),
  );
  expect(answers).toEqual(copies.map(() => 200));
  const done = await app.lines('run_done', traceIds.length);
  expect(different(done, 'pid')).toBeGreaterThan(1);
  return port;
}

it('handles every delivery once over several workers, and replaces one that is lost', async () => {
  const app = start(['app.ts']);
  const port = await deliverToBoth(app);

  const [{ pid } = {}] = await app.lines('run_done', 1);
  process.kill(Number(pid), 'SIGKILL');
  await app.lines('listening', 3);
  expect(await deliverUntilTaken(port, 'after the loss', 'x'.repeat(1_200_000))).toBe(200);
  await app.lines('run_done', 21);
  expect(await app.stop()).toBe(0);
  const runs = await app.lines('run_done', 21);
  expect([runs.length, different(runs, 'traceId')]).toEqual([21, 21]);
});

it('handles every delivery once under pm2, also while pm2 replaces the workers', async () => {
  const pm2 = join(root, 'node_modules/pm2/bin');
  // pm2-runtime stays in the foreground, and leaves nothing behind.
  const app = start([join(pm2, 'pm2-runtime'), 'start', 'pm2.config.cjs'], { DATABASE: './pm2.db' });
  const port = await deliverToBoth(app);

  const reload = start([join(pm2, 'pm2'), 'reload', 'calls']);
  const exitCodes: (number | null)[] = [];
  void reload.ended().then((code) => exitCodes.push(code));
  let count = traceIds.length;
  for (; exitCodes.length === 0; count += 1) {
    expect(await deliverUntilTaken(port, `while it reloads ${count}`, 'x'.repeat(1_200_000))).toBe(200);
  }
  expect(exitCodes).toEqual([0]);
  expect(count).toBeGreaterThan(traceIds.length);
  await app.lines('listening', 4);
  // Each of them has ended by itself.
  expect(different(await app.lines('receiver_stopped', 2), 'pid')).toBe(2);
  await app.lines('run_done', count);
  expect(await app.stop()).toBe(0);
  const runs = await app.lines('run_done', count);
  expect([runs.length, different(runs, 'traceId')]).toEqual([count, count]);
});

it('ends when its workers cannot start', async () => {
  const app = start(['app.ts'], { WEBHOOK_SECRET: '' });
  await app.lines('worker_lost', 2);
  expect(await app.ended()).toBe(1);
});
