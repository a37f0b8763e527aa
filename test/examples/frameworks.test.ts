import { writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type SignedDelivery, buildDelivery, deliverTo } from '../../src/testing/index.ts';
import type { PackedProject } from '../package/packed-project.ts';
import { startProgram } from '../package/program.ts';
import { projectOf } from './framework-project.ts';

const secret = 'whsec_ZXhhbXBsZXM=';
let project: PackedProject;

beforeAll(async () => {
  project = await projectOf(['cluster', 'express', 'fastify', 'hono', 'nest', 'next', 'node-http']);
});
afterAll(() => project.remove());

/** Each example with where its program is, and what it answers to a body in JSON that is sent to `/echo`. */
const examples = [
  { name: 'express', program: 'express/app.ts', echoes: false },
  { name: 'express, on Express 4', program: 'express4/app.ts', echoes: false },
  { name: 'fastify', program: 'fastify/app.ts', echoes: true },
  { name: 'hono', program: 'hono/app.ts', echoes: false },
  { name: 'nest', program: 'dist/nest/main.js', echoes: true },
  { name: 'node-http', program: 'node-http/app.ts', echoes: false },
];

/** A call with a transcript that is longer than the bodies that frameworks take by default. */
function transcript(headers: Readonly<Record<string, string>> = {}): SignedDelivery {
  const call = {
    call_id: 'call_1',
    agent_id: 'agent_1',
    status: 'success',
    transcript: 'x'.repeat(1_200_000),
  };
  const body = { eventName: 'CallHandler.CallEnded', traceId: 'trace-1', payload: call };
  return buildDelivery(body, { secret, headers: { 'content-type': 'application/json', ...headers } });
}

async function startApp(program: string) {
  const env = { PORT: '0', DATABASE: ':memory:', WEBHOOK_SECRET: secret };
  const app = startProgram(process.execPath, [join(project.folder, program)], { cwd: project.folder, env });
  onTestFinished(() => app.kill());
  const { address } = (await app.line('listening')) as { address: { port: number } };
  return { app, base: `http://127.0.0.1:${address.port}`, port: address.port };
}

const refused = { status: 403, body: { error: 'https_required' } };

describe.each(examples)('the example $name', ({ program, echoes }) => {
  it('takes a long transcript through its proxy, handles it, and ends cleanly', async () => {
    const { app, base } = await startApp(program);
    const url = `${base}/webhooks/calls`;
    const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'calls.example.com' };
    expect(await deliverTo(url, transcript(proxied))).toEqual({
      status: 200,
      body: { status: 'accepted', traceId: 'trace-1' },
    });
    expect(await app.line('run_done', 'run_retry')).toMatchObject({ event: 'run_done' });
    const counts: unknown = await (await fetch(`${base}/counts`)).json();
    expect(counts).toMatchObject({ events: { new: 0, open: 0, done: 1 } });
    if (echoes) {
      const posted = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' };
      expect(await (await fetch(`${base}/echo`, posted)).json()).toEqual({ a: 1 });
    }
    // Last, because a server may close the connection after what it has not read.
    expect(await deliverTo(url, transcript())).toEqual(refused);
    expect(await app.stop()).toBe(0);
  });
});

it('the example hono does not believe a sender that writes https into its request', async () => {
  const { port } = await startApp('hono/app.ts');
  const { body, headers } = transcript();
  const answered = Promise.withResolvers<IncomingMessage>();
  const path = 'https://calls.example.com/webhooks/calls';
  request({ host: '127.0.0.1', port, method: 'POST', path, headers }, answered.resolve)
    .on('error', answered.reject)
    .end(body);
  const answer = await answered.promise;
  expect({ status: answer.statusCode, body: await json(answer) }).toEqual(refused);
});

it('the example next takes a delivery in its route handler', async () => {
  const { body, headers } = transcript({ 'x-forwarded-proto': 'https' });
  writeFileSync(join(project.folder, 'body'), body);
  const script = join(project.folder, 'next-request.ts');
  writeFileSync(
    script,
    `import { readFileSync } from 'node:fs';
     import { deliver } from 'ringback/testing';
     import { POST } from './next/app/webhooks/calls/route.ts';
     import { register } from './next/instrumentation.ts';
     import { started } from './next/receiver.ts';
     await register();
     const body = readFileSync('body');
     const answer = await deliver({ fetch: POST }, { body, headers: ${JSON.stringify(headers)} }, 'http://calls.example.com/');
     console.log(JSON.stringify({ event: 'answered', ...answer }));
     process.once('SIGTERM', async () => (await started()).stop());`,
  );
  const env = { NEXT_RUNTIME: 'nodejs', DATABASE: ':memory:', WEBHOOK_SECRET: secret };
  const app = startProgram(process.execPath, [script], { cwd: project.folder, env });
  onTestFinished(() => app.kill());
  expect(await app.line('answered')).toMatchObject({ status: 200, body: { status: 'accepted' } });
  await app.line('run_done');
  expect(await app.stop()).toBe(0);
});
