// @module-tag long
import express from 'express';
import * as fc from 'fast-check';
import type { RequestListener, ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpServer } from '../../src/cli/serve/http-server.ts';
import type { Receiver } from '../../src/receiver/receiver.ts';
import { ManualClock } from '../support/clock.ts';
import type { Clock } from '../support/public.ts';
import { exchanged, listening, uploadedWithoutEnd } from '../support/servers.ts';

/** Paths that the command takes; some differ from others only by Express's own rules. */
const paths = [
  '/webhooks',
  '/',
  '/healthz',
  '/readyz/',
  '/a/b.c~d-e_f',
  '/Hook',
  '/hook/',
  '//x',
  '//',
  '/a//b',
];
const endings = [
  '',
  '/',
  '//',
  '?',
  '?a=b',
  '?a@b',
  '?a#b',
  '?a?b',
  '?#@b',
  '#b',
  '%2f',
  '%',
  '/sub',
  ';x',
  '\\',
  '.',
  's',
];

const answerHook = (_request: unknown, response: ServerResponse) => void response.end('hook');

/** A receiver that only answers that a delivery reached it. */
const receiver = { isReady: true, middleware: () => answerHook } as unknown as Receiver;

/** The reference for which targets are deliveries: Express with all the routes. */
function reference(path: string): RequestListener {
  const app = express().disable('x-powered-by').disable('etag');
  app.get('/healthz', (_request, response) => void response.json({ status: 'alive' }));
  app.get('/readyz', (_request, response) => void response.json({ status: 'ready' }));
  app.use(path, answerHook);
  // Given what comes last, Express has no page of its own for a target in which it finds no path.
  const routed = app as unknown as (...given: [...Parameters<RequestListener>, next: () => void]) => void;
  return (request, response) =>
    routed(request, response, () => {
      response.statusCode = 404;
      response.setHeader('content-type', 'application/json; charset=utf-8').end('{"error":"not_found"}');
    });
}

async function listeningAt(path: string, clock?: Clock): Promise<{ server: HttpServer; port: number }> {
  const server = new HttpServer(receiver, { path, ...(clock && { clock }) });
  await server.listen({ host: '127.0.0.1', port: 0, path });
  onTestFinished(async () => {
    server.drain();
    await server.close();
  });
  return { server, port: Number(new URL(server.url).port) };
}

async function serverAt(path: string): Promise<number> {
  return (await listeningAt(path)).port;
}

async function answerOf(port: number, method: string, target: string) {
  const head = `${method} ${target} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
  const text = await exchanged(port, (write) => write(Buffer.from(head, 'latin1')));
  const [answered = '', body] = text.split('\r\n\r\n');
  return { status: answered.split('\r\n')[0], body };
}

const method = fc.constantFrom('POST', 'POST', 'POST', 'GET', 'HEAD', 'OPTIONS', 'PUT');
const path = fc.constantFrom(...paths);
const recased = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.toUpperCase(),
);
const target = fc.tuple(path, recased, fc.array(fc.constantFrom(...endings), { maxLength: 3 }));

it('takes for deliveries what Express would', async () => {
  const [own, reading] = await Promise.all(
    [serverAt, (each: string) => listening(reference(each))].map(async (start) =>
      Object.fromEntries(await Promise.all(paths.map(async (each) => [each, await start(each)] as const))),
    ),
  );
  await fc.assert(
    fc.asyncProperty(method, path, target, fc.boolean(), async (verb, at, [other, recase, rest], isOther) => {
      const sent = recase(isOther ? other : at) + rest.join('');
      const [found, expected] = await Promise.all([
        answerOf(own?.[at] ?? 0, verb, sent),
        answerOf(reading?.[at] ?? 0, verb, sent),
      ]);
      expect({ status: found.status, body: found.body }).toEqual({
        status: expected.status,
        body: expected.body,
      });
    }),
    {
      numRuns: 600,
      // Because of the `#`, Express parses the target as a whole URL, in which `x?#@b` is a user name and a host.
      examples: [['POST', '//x', ['//x', (text) => text, ['?#@b']], false]],
    },
  );
});

describe('a delivery that comes before the receiver has started', () => {
  it('waits for that, while health checks are answered', async () => {
    const { server, port } = await listeningAt('/webhooks', new ManualClock());
    const started = Promise.withResolvers<void>();
    server.holdUntil(started.promise);
    const order: string[] = [];
    const waiting = answerOf(port, 'POST', '/webhooks').then(({ body }) => order.push(String(body)));
    expect(await answerOf(port, 'GET', '/readyz')).toMatchObject({ status: 'HTTP/1.1 200 OK' });
    order.push('started');
    started.resolve();
    await waiting;
    expect(order).toEqual(['started', expect.stringContaining('hook')]);
    expect((await answerOf(port, 'POST', '/webhooks')).body).toContain('hook');
  });

  it('reaches the receiver when the start fails or takes too long', async () => {
    const clock = new ManualClock();
    const { server, port } = await listeningAt('/webhooks', clock);
    server.holdUntil(new Promise(() => {}));
    const late = answerOf(port, 'POST', '/webhooks');
    await clock.timer(700);
    clock.advance(700);
    expect((await late).body).toContain('hook');
    server.holdUntil(Promise.reject(new Error('the secrets are lost')));
    expect((await answerOf(port, 'POST', '/webhooks')).body).toContain('hook');
  });
});

it('refuses a target that is no path', async () => {
  const port = await serverAt('/');
  for (const sent of ['*', 'http://a.example/']) {
    expect(await answerOf(port, 'POST', sent)).toMatchObject({
      status: 'HTTP/1.1 400 Bad Request',
      body: expect.stringContaining('{"error":"bad_target"}'),
    });
  }
});

it('closes the socket of an endless upload to another path', async () => {
  const port = await serverAt('/webhooks');
  const endless = 'POST /other HTTP/1.1\r\nhost: a.example\r\ncontent-length: 100000000\r\n\r\n';
  expect(await uploadedWithoutEnd(port, endless)).toMatch(/^HTTP\/1\.1 404 /);
});
