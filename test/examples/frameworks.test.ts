// @module-tag long
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { PackedProject } from '../package/packed-project.ts';
import { startProgram } from '../package/program.ts';
import { projectOf } from './framework-project.ts';
import { handlesTranscript, refused, refusesPlainHttp, secret, transcript } from './long-transcript.ts';

let project: PackedProject;

beforeAll(async () => {
  project = await projectOf(['express', 'fastify', 'hono', 'nest', 'node-http']);
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

async function startApp(program: string) {
  const env = { PORT: '0', DATABASE: ':memory:', WEBHOOK_SECRET: secret };
  const app = startProgram(process.execPath, [join(project.folder, program)], { cwd: project.folder, env });
  onTestFinished(() => app.kill());
  const { address } = (await app.line('listening')) as { address: { port: number } };
  return { app, base: `http://127.0.0.1:${address.port}`, port: address.port };
}

describe.each(examples)('the example $name', ({ program, echoes }) => {
  it('takes a long transcript through its proxy, handles it, and ends cleanly', async () => {
    const { app, base } = await startApp(program);
    await handlesTranscript(app, base);
    const counts = await fetch(`${base}/counts`);
    expect(await counts.json()).toMatchObject({ events: { new: 0, open: 0, done: 1 } });
    // In seconds: nginx keeps idle connections for 60, and the app must not close one that a delivery is being sent on.
    expect(Number(/timeout=(\d+)/.exec(counts.headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(60);
    if (echoes) {
      const posted = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' };
      expect(await (await fetch(`${base}/echo`, posted)).json()).toEqual({ a: 1 });
    }
    await refusesPlainHttp(base);
    expect(await app.stop()).toBe(0);
  });
});

it('the example fastify ends although a delivery was on a connection that is kept alive', async () => {
  const { app, base, port } = await startApp('fastify/app.ts');
  const { body, headers } = transcript({ 'x-forwarded-proto': 'https', expect: '100-continue' });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const sent = request({ host: 'localhost', port, method: 'POST', path: '/webhooks/calls', headers, agent });
  sent.flushHeaders();
  await once(sent, 'continue');
  const ended = app.stop();
  const status = () =>
    fetch(`${base}/counts`).then(
      (answer) => answer.status,
      () => 'closed',
    );
  await expect.poll(status).not.toBe(200);
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  expect(answer.statusCode).toBe(200);
  expect(await ended).toBe(0);
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
