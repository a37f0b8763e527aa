import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ReceiverOptions, createReceiver } from '../support/public.ts';
import { listening } from '../support/servers.ts';
import { folder, secret } from './command.ts';
import { cert, key } from './doctor-certificate.ts';
import { commanded, examined, plain, receiverAt } from './doctor-support.ts';

describe('doctor, at the public address', () => {
  const beyond = {
    'trust proxy': /^warning: the receiver accepts deliveries over http/,
    'host allowed': /^ok/,
    'raw body': /^ok/,
    signature: /^ok/,
  };

  it.each<[string, ReceiverOptions, Record<string, RegExp>]>([
    ['all is well', plain, { reachable: /^ok/, ...beyond, 'answer time': /^\w+: answered within \d+ ms/ }],
    [
      'the receiver does not see HTTPS',
      {},
      {
        reachable: /^ok/,
        'trust proxy': /^wrong: .*--trust-proxy/,
        'host allowed': /^skipped/,
        signature: /^skipped/,
      },
    ],
    [
      'the host is another',
      { https: { required: false, hosts: ['calls.example.com'] } },
      { 'trust proxy': /^warning/, 'host allowed': /^wrong: .*https\.hosts/, 'raw body': /^skipped/ },
    ],
  ])('reports when %s', { tags: 'long' }, async (_what, options, expected) => {
    const found = await examined({ url: await receiverAt(options) });
    for (const [check, pattern] of Object.entries(expected)) expect(found[check]).toMatch(pattern);
    expect(found['https']).toMatch(/^wrong: the address is http/);
    expect(found['host']).toMatch(/^wrong: 127\.0\.0\.1 is not a public domain name/);
  });

  it('reports a body parser in front', { tags: 'long' }, async () => {
    const url = await receiverAt(plain, (app) => app.use(express.json()));
    expect(await commanded([], { env: { RINGBACK_PUBLIC_URL: url.href } })).toMatchObject({
      'host allowed': expect.stringMatching(/^ok/),
      'raw body': expect.stringMatching(/^wrong: a body parser in front .* mount the receiver before it/),
      signature: 'skipped: deliveries do not get this far: see "raw body"',
    });
  });

  const answering =
    (status: number, body = ''): RequestListener =>
    (_request, response) =>
      void response.writeHead(status).end(body);

  it('sends one request, whatever the answer', async () => {
    const seen: unknown[] = [];
    const port = await listening((request, response) => {
      seen.push([request.method, request.headers['content-length']]);
      answering(421)(request, response);
    });
    const found = await examined({ url: new URL(`http://127.0.0.1:${port}/`) });
    expect(found['reachable']).toMatch(/^wrong: .* answers 421, but not in the form of a receiver's answer/);
    expect(seen).toEqual([['POST', '18']]);
  });

  /** Redirects to a correct receiver: the platform may not follow the redirect. */
  const leading: RequestListener = (request, response) =>
    request.url === '/elsewhere'
      ? answering(401, '{"error":"not_authentic"}')(request, response)
      : void response.writeHead(301, { location: '/elsewhere' }).end();

  it.each<[string, RequestListener, RegExp]>([
    ['nothing is there', answering(404), /^wrong: .* answers 404, but not/],
    ['it leads elsewhere', leading, /^wrong: .* answers 301/],
    ['anything is taken', answering(200, 'ok'), /^wrong: .* accepts unsigned deliveries/],
    [
      'the receiver is not started',
      answering(503, '{"error":"unavailable"}'),
      /^wrong: .* accepts no deliveries/,
    ],
    ['others use the same words', answering(400, '{"error":"not_authentic"}'), /^wrong: .* answers 400/],
    ['others use words of no table', answering(401, '{"error":"toString"}'), /^wrong: .* answers 401/],
    ['nobody answers', (request) => void request.socket.destroy(), /^wrong: .* can't be reached \(/],
  ])('reports when %s', async (_what, listener, expected) => {
    const found = await examined({ url: new URL(`http://127.0.0.1:${await listening(listener)}/webhooks`) });
    expect(found['reachable']).toMatch(expected);
    expect(found['signature']).toMatch(/^skipped/);
  });

  it.each([
    [-3_600_000, /^wrong: (3599|36\d\d) s ahead of the clock behind/],
    [60_000, /^warning: (59|6\d) s behind the clock behind/],
    [0, /^ok: agrees with the clock behind/],
  ])('reports when the clocks differ by %i ms', async (by, expected) => {
    const port = await listening((_request, response) => {
      response.writeHead(401, { date: new Date(Date.now() + by).toUTCString() });
      response.end('{"error":"not_authentic"}');
    });
    const url = new URL(`http://127.0.0.1:${port}`);
    // Half of the time that the answer takes counts, which on a busy machine may be seconds.
    await expect.poll(async () => (await examined({ url }))['clock']).toMatch(expected);
  });

  it('finds nothing wrong with a receiver behind TLS under a domain name', { tags: 'long' }, async () => {
    const { url, node, trusted } = await behindTls();
    const env = { NODE_EXTRA_CA_CERTS: trusted, RINGBACK_SECRETS: secret };
    // The time of the answer depends on the machine.
    const { 'answer time': _time, ...found } = await commanded(['--url', url], { node, env });
    expect(Object.values(found).filter((line) => line.startsWith('wrong'))).toEqual([]);
    expect(found).toMatchObject({
      https: 'ok: the address is https',
      host: 'ok: calls.example.com is a domain name',
      'trust proxy': 'ok: the receiver sees that it came over HTTPS',
      signature: 'ok: unsigned deliveries are refused',
    });
  });

  it('reports an untrusted certificate', { tags: 'long' }, async () => {
    const { url, node } = await behindTls();
    expect((await commanded(['--url', url], { node }))['reachable']).toMatch(/^wrong: .*certificate/);
  });
});

/** A receiver behind TLS as calls.example.com, and what a process needs to find it under that name and trust it. */
async function behindTls() {
  const receiver = createReceiver({ secrets: secret, database: ':memory:', logger: { level: 'silent' } });
  await receiver.start();
  const server = createServer({ key, cert }, receiver.nodeHandler()).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await receiver.stop({ drain: 0 });
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // Every name that the process looks up leads to loopback.
  const lookup = `import dns from 'node:dns';
    const real = dns.lookup;
    dns.lookup = (name, options, done) => real('127.0.0.1', options, done);`;
  return {
    url: `https://calls.example.com:${port}/webhooks`,
    node: ['--import', `data:text/javascript,${encodeURIComponent(lookup)}`],
    trusted: join(folder({ 'cert.pem': cert }), 'cert.pem'),
  };
}
