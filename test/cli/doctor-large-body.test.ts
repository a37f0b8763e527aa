import { type IncomingMessage, type RequestListener, request as send } from 'node:http';
import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { checkLargeBody } from '../../src/cli/doctor/check-large-body.ts';
import type { Probe } from '../../src/cli/doctor/probe.ts';
import { listening } from '../support/servers.ts';
import { ringback } from './command.ts';
import { commanded, examined, plain, receiverAt } from './doctor-support.ts';

/** A proxy that passes everything on to an address, unless `before` answers or breaks off. */
async function proxyTo(
  target: URL,
  before: (...request: Parameters<RequestListener>) => 'answered' | undefined,
): Promise<URL> {
  const port = await listening((request, response) => {
    if (before(request, response) === 'answered') return;
    const { method, headers } = request;
    const passed = send(target, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  return new URL(target.pathname, `http://127.0.0.1:${port}`);
}

const isLarge = ({ headers }: IncomingMessage) => Number(headers['content-length']) > 1024 ** 2;

/** Counts requests as the middleware of this name does, and refuses those above `max`. */
function rateLimiter(max: number): RequestHandler {
  let count = 0;
  return (_request, response, next) => {
    count += 1;
    response.setHeader('RateLimit-Limit', max);
    if (count <= max) next();
    else response.status(429).send('Too many requests, please try again later.');
  };
}

describe('doctor posts a body of the size limit', () => {
  it('and finds that it gets as far as a small one', { tags: 'long' }, async () => {
    const seen: (string | undefined)[] = [];
    const url = await receiverAt(plain, (app) =>
      app.use(({ headers }, _response, next) => {
        seen.push(headers['content-length']);
        next();
      }),
    );
    const found = await examined({ url });
    expect(found['signature']).toMatch(/^ok/);
    // How long it took depends on the machine.
    expect(found['large body']).toMatch(/^(ok|warning): a body of 5 MB gets as far as a small one/);
    expect(found).not.toHaveProperty('rate limiter');
    expect(seen).toEqual(['18', String(5 * 1024 ** 2)]);
  });

  it('and names a proxy with a smaller limit', async () => {
    const url = await proxyTo(await receiverAt(plain), (request, response) => {
      if (!isLarge(request)) return undefined;
      response.writeHead(413, { server: 'nginx/1.27.0', 'content-type': 'text/html' }).end('<h1>413</h1>');
      return 'answered';
    });
    const found = await commanded(['--url', url.href]);
    expect(found['signature']).toMatch(/^ok/);
    expect(found['large body']).toBe(
      'wrong: something in front of the receiver (server: nginx/1.27.0) refuses a body of 5 MB with 413, so long ' +
        'transcripts never reach the receiver: raise its limit to limits.body (nginx: client_max_body_size).',
    );
  });

  it.each([
    ['that keeps the bytes', { limit: '100kb', verify: keepBytes }, /^ok/],
    ['that does not', { limit: '100kb' }, /^wrong: a body parser in front/],
  ])('and names a body parser in front %s', async (_which, options, rawBody) => {
    const url = await receiverAt(plain, (app) => app.use(express.json(options)));
    const found = await examined({ url });
    expect(found['raw body']).toMatch(rawBody);
    expect(found['large body']).toMatch(
      /^wrong: something in front of the receiver \(x-powered-by: Express\) refuses a body of 5 MB with 413, .*such as express\.json\(\), so mount the receiver before it\.$/,
    );
  });

  it('and names a body parser of an app that does not name itself', async () => {
    const url = await receiverAt(plain, (app) =>
      app.disable('x-powered-by').use(express.json({ verify: keepBytes })),
    );
    expect((await examined({ url }))['large body']).toMatch(
      /^wrong: something in front of the receiver, which does not identify itself, refuses .* such as express\.json\(\)/,
    );
  });

  it(
    'and names a rate limiter: that refuses it, that has not refused yet, and that refuses all',
    { tags: 'long' },
    async () => {
      const behind = async (max: number) =>
        await examined({ url: await receiverAt(plain, (app) => app.use(rateLimiter(max))) });
      const refusing = await behind(1);
      expect(refusing['signature']).toMatch(/^ok/);
      expect(refusing['large body']).toMatch(
        /^wrong: .*Express\) refuses a body of 5 MB with 429, as a rate limiter does/,
      );
      const counting = await behind(100);
      expect(counting['large body']).toMatch(/gets as far as a small one/);
      expect(counting['rate limiter']).toMatch(/^warning: a rate limiter .*\(the header ratelimit-limit\)/);
      const full = await behind(0);
      expect(full['reachable']).toMatch(/^wrong: .* answers 429, .* refuses even a small body with 429/);
      expect(full['large body']).toBe('skipped: deliveries do not get this far: see "reachable"');
    },
  );

  it.each([408, 502, 503, 504, 524])('and names a proxy that gives up with %i', async (status) => {
    const url = await proxyTo(await receiverAt(plain), (request, response) => {
      if (!isLarge(request)) return undefined;
      response.writeHead(status, { via: '1.1 edge' }).end('{"error":"the origin timed out"}');
      return 'answered';
    });
    expect((await examined({ url }))['large body']).toMatch(
      new RegExp(
        String.raw`^wrong: .*\(via: 1\.1 edge\) gives up on a body of 5 MB with ${status}: .*proxy_request_buffering`,
      ),
    );
  });

  it('and says that something in front breaks it off', async () => {
    const url = await proxyTo(await receiverAt(plain), (request) => {
      if (!isLarge(request)) return undefined;
      request.destroy();
      return 'answered';
    });
    expect((await examined({ url }))['large body']).toMatch(
      /^wrong: a body of 5 MB is not answered .* while a small one is: something in front of the receiver closes the connection/,
    );
  });

  it('and says that a firewall refuses it, or something takes it in place of the receiver', async () => {
    for (const status of [403, 200]) {
      const url = await proxyTo(await receiverAt(plain), (request, response) => {
        if (!isLarge(request)) return undefined;
        response
          .writeHead(status, { server: `waf\u00ff${'x'.repeat(500)}` })
          .end('{"error":"not_authentic"}');
        return 'answered';
      });
      const line = (await examined({ url }))['large body'];
      expect(line).toMatch(
        new RegExp(`^wrong: .* answers a body of 5 MB with ${status}, while a small one reaches`),
      );
      expect(line?.length).toBeLessThan(300);
    }
  });

  it("and knows the receiver's own refusals from those of others", { tags: 'long' }, async () => {
    const small = await examined({ url: await receiverAt({ ...plain, limits: { body: '1mb' } }) });
    expect(small['large body']).toMatch(
      /^warning: the receiver itself refuses a body of 5 MB, .* pass that size in --body/,
    );
    const given = await examined({
      url: await receiverAt({ ...plain, limits: { body: '1mb' } }),
      body: 1024 ** 2,
    });
    expect(given['large body']).toMatch(/: a body of 1 MB gets as far as a small one/);
    // As it answers while other bodies use up all room.
    const full = await proxyTo(await receiverAt(plain), (request, response) => {
      if (!isLarge(request)) return undefined;
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"unavailable"}');
      return 'answered';
    });
    const crowded = await examined({ url: full });
    expect(crowded['large body']).toMatch(
      /^wrong: the receiver had no room for a body of 5 MB: raise limits\.inflight/,
    );
  });

  it('of the size that is given, and of no other', async () => {
    const url = (await receiverAt(plain)).href;
    expect((await commanded(['--url', url, '--body', '200kb']))['large body']).toMatch(
      /a body of 200 KB gets/,
    );
    const { code, stderr } = await ringback(['doctor', '--url', url, '--body', '5gb']);
    expect([code, stderr]).toEqual([2, expect.stringContaining("from '1kb' to '100mb'")]);
  });
});

function keepBytes(request: unknown, _response: unknown, rawBody: Buffer): void {
  Object.assign(request as object, { rawBody });
}

describe('the line about the large body', () => {
  const answered = (status: number, code: string, latency: number): Probe => ({
    kind: 'answered',
    status,
    code,
    latency,
    headers: new Headers(),
    text: '',
    ahead: undefined,
  });
  const small = answered(401, 'not_authentic', 5);
  const about = (large: Probe) => checkLargeBody(large, small, 5 * 1024 ** 2);

  it('warns of an answer that takes longer than the platform waits', () => {
    expect(about(answered(401, 'not_authentic', 999)).status).toBe('ok');
    expect(about(answered(401, 'not_authentic', 1_000))).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/1000 ms.*buffers it, or the connection from here is slow/v) as string,
    });
  });

  it('says what becomes of it in the receiver', () => {
    expect(about(answered(408, 'timeout', 5)).message).toMatch(/did not get all of .* limits\.bodyTimeout/v);
    expect(about(answered(500, 'body_already_parsed', 5)).message).toMatch(
      /although a small one is not: a body parser/v,
    );
  });

  it('says that nothing comes', () => {
    const found = about({ kind: 'failed', cause: 'The operation was aborted due to timeout' });
    expect(found).toMatchObject({
      status: 'wrong',
      message: expect.stringContaining('within 30 s') as string,
    });
  });
});
