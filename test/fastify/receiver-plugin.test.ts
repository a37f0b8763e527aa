import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { type ReceiverPluginOptions, receiverPlugin } from '../../src/fastify/index.ts';
import { bodyOf, post, signedHeaders } from '../support/deliveries.ts';
import type { ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';

const loopback: ReceiverOptions = { https: { required: false } };

/** An app with a route of its own, that listens. */
async function listening(options: ReceiverOptions = loopback) {
  const { receiver, logs } = await started(options, (r) => r.on('*', () => {}));
  // A client that was refused in the middle of its body keeps its connection: it would be waited for.
  const app = fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  app.post('/other', (request) => request.body);
  await app.register(receiverPlugin, { prefix: '/webhooks/calls', receiver });
  return { app, logs, base: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

test('takes deliveries at its prefix and below, and leaves other routes alone', async () => {
  const { base, logs } = await listening();
  const url = `${base}/webhooks/calls`;
  const body = bodyOf({ traceId: 'trace-1' });
  expect((await post(url, body)).json).toEqual({ status: 'accepted', traceId: 'trace-1' });
  expect((await post(`${url}?a=1`, body)).json).toEqual({ status: 'duplicate', traceId: 'trace-1' });
  for (const below of ['/', '/deeper']) expect((await post(url + below)).json.status).toBe('accepted');
  await logs.until('run_done', 3);
  const headers = { 'content-type': 'application/json' };
  expect((await post(`${base}/other`, '{"a":1}', headers)).json).toEqual({ a: 1 });
  expect((await post(`${base}/webhooks/callsign`)).status).toBe(404);
});

test("a body is refused by the receiver's limit, not by Fastify's", { tags: 'long' }, async () => {
  const { base } = await listening({ ...loopback, limits: { body: '2mb' } });
  const url = `${base}/webhooks/calls`;
  const ofSize = (size: number) => bodyOf({ payload: { pad: 'x'.repeat(size) } });
  expect((await post(url, ofSize(1_200_000))).json.status).toBe('accepted');
  expect(await post(url, ofSize(2_200_000))).toMatchObject({ status: 413, json: { error: 'too_large' } });
});

test.each([
  ['of another method', { method: 'GET' }, 405, { error: 'method' }],
  [
    'that is no JSON',
    { method: 'POST', headers: { 'content-type': 'text/plain' } },
    415,
    { error: 'media_type' },
  ],
  [
    'whose media type is none',
    { method: 'POST', headers: { 'content-type': '?' } },
    415,
    { error: 'media_type' },
  ],
  ['that is not signed', { method: 'POST' }, 401, { error: 'not_authentic' }],
])("a request %s gets the receiver's answer", async (_, request, status, answer) => {
  const { base } = await listening();
  const response = await fetch(`${base}/webhooks/calls`, request);
  expect([response.status, await response.json()]).toEqual([status, answer]);
});

test('a proxy is trusted by its address', async () => {
  const { base } = await listening({ https: { trustProxy: 'loopback' } });
  const url = `${base.replace('127.0.0.1', 'localhost')}/webhooks/calls`;
  const body = bodyOf();
  expect((await post(url, body)).status).toBe(403);
  const forwarded = { ...signedHeaders(body), 'x-forwarded-proto': 'https' };
  expect((await post(url, body, forwarded)).json.status).toBe('accepted');
});

test('a delivery that is injected is taken', async () => {
  const { app } = await listening();
  const payload = bodyOf();
  const headers = signedHeaders(payload);
  const answer = await app.inject({ method: 'POST', url: '/webhooks/calls', headers, payload });
  expect(answer.json()).toMatchObject({ status: 'accepted' });
});

test('behind a hook that makes the answer fail, the log names what failed', async () => {
  const { receiver, logs } = await started(loopback);
  const app = fastify();
  onTestFinished(() => app.close());
  app.addHook('onRequest', (_request, { raw }, done) => {
    raw.setHeader = () => {
      throw new TypeError('no headers');
    };
    done();
  });
  app.register(receiverPlugin, { receiver });
  await expect(post(await app.listen({ host: '127.0.0.1', port: 0 }))).rejects.toThrow('fetch failed');
  expect(logs.of('answer_failed')).toMatchObject([{ cause: 'TypeError' }]);
});

test('is not registered without a receiver', async () => {
  const app = fastify();
  onTestFinished(() => app.close());
  const options = { prefix: '/webhooks/calls' } as unknown as ReceiverPluginOptions;
  await expect(app.register(receiverPlugin, options)).rejects.toThrow(
    'The option receiver of receiverPlugin should be what createReceiver has returned, but is of type undefined.',
  );
});
