import { request } from 'node:http';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildDelivery } from '../../src/testing/index.ts';
import { type PackedProject, addPackages, packProject } from '../package/packed-project.ts';
import { type Line, startProgram } from '../package/program.ts';

const root = join(import.meta.dirname, '../..');
const secret = 'whsec_ZXhhbXBsZXM=';
let project: PackedProject;

beforeAll(async () => {
  project = await packProject();
  addPackages(project, 'express');
  cpSync(join(root, 'examples/cluster/app.ts'), join(project.folder, 'app.ts'));
});
afterAll(() => project.remove());

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

/** As the platform does, again while it is told that the event can't be stored now: four processes share one file. */
async function deliverUntilTaken(...delivery: Parameters<typeof deliverAlone>): Promise<number | undefined> {
  let status: number | undefined;
  do status = await deliverAlone(...delivery);
  while (status === 503);
  return status;
}

function different(lines: readonly Line[], field: string): number {
  return new Set(lines.map((line) => line[field])).size;
}

it('handles every delivery once over four workers, and replaces one that is lost', async () => {
  const env = { PORT: '0', WEBHOOK_SECRET: secret };
  const app = startProgram(process.execPath, ['app.ts'], { cwd: project.folder, env });
  onTestFinished(() => app.kill());
  const [first] = (await app.lines('listening', 4)) as unknown as { address: { port: number } }[];
  const port = first?.address.port ?? 0;

  // Each event three times, at the same time, so that its copies meet in different workers.
  const traceIds = Array.from({ length: 20 }, (_, index) => `trace-${index}`);
  const copies = [...traceIds, ...traceIds, ...traceIds];
  const answers = await Promise.all(
    copies.map((traceId) => deliverUntilTaken(port, traceId, 'x'.repeat(60_000))),
  );
  expect(answers).toEqual(copies.map(() => 200));
  const done = await app.lines('run_done', 20);
  expect(different(done, 'pid')).toBeGreaterThan(1);

  process.kill(Number(done[0]?.['pid']), 'SIGKILL');
  await app.lines('listening', 5);
  expect(await deliverUntilTaken(port, 'after the loss', 'x'.repeat(1_200_000))).toBe(200);
  await app.lines('run_done', 21);
  expect(await app.stop()).toBe(0);
  const runs = await app.lines('run_done', 21);
  expect([runs.length, different(runs, 'traceId')]).toEqual([21, 21]);
});

it('ends when its workers cannot start', async () => {
  const env = { PORT: '0', WEBHOOK_SECRET: '' };
  const app = startProgram(process.execPath, ['app.ts'], { cwd: project.folder, env });
  onTestFinished(() => app.kill());
  await app.lines('worker_lost', 4);
  expect(await app.ended()).toBe(1);
});
