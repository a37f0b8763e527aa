import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { cert, key } from '../cli/doctor-certificate.ts';
import { ManualClock } from '../support/clock.ts';
import { Logs } from '../support/logs.ts';
import { Script } from '../support/process.ts';
import {
  addressOfNobody,
  answered,
  apiKey,
  clientOf,
  kb,
  platformError,
  reset,
  sandboxAndPlatform,
  standIn,
} from './support.ts';

/** What `fetch` has as its cause when this step of a connection fails. */
const failure = (syscall: string | undefined, code: string) =>
  Object.assign(new Error(`${syscall} ${code}`), { syscall, code });

describe('what is tried again', () => {
  it('a read and a write that the sandbox answers with 503', async () => {
    const { sandbox, platform } = await sandboxAndPlatform({ retry: { base: 0 } });
    sandbox.fail('knowledge-bases', 3);
    expect(await platform.knowledgeBases.get('kb_1')).toMatchObject({ id: 'kb_1' });
    sandbox.fail('subscriptions.create', 3, { retryAfter: 0 });
    const wanted = { name: 'calls', url: 'https://calls.example.com' };
    expect(await platform.subscriptions.create(wanted)).toMatchObject({ subscription: { name: 'calls' } });
  });

  test.each([408, 429, 500, 502, 503, 504])('a read that is answered with %i', async (status) => {
    const { url, received } = await standIn({ status, json: {} }, { status, json: {} }, { json: kb });
    const { platform, waits } = clientOf(url);
    expect(await platform.knowledgeBases.get('kb_1')).toMatchObject(kb);
    expect(received).toHaveLength(3);
    // Full jitter: half of 500 ms, then half of twice that.
    expect(waits).toEqual([250, 500]);
  });

  it('a read whose connection breaks', async () => {
    const { url, received } = await standIn(reset, { json: kb });
    expect(await clientOf(url).platform.knowledgeBases.get('kb_1')).toMatchObject(kb);
    expect(received).toHaveLength(2);
  });

  test.each([429, 503])('a write that is answered with %i: it was not done', async (status) => {
    const refusal = { status, headers: { 'retry-after': '1' }, json: {} };
    const { url, received } = await standIn(refusal, { json: answered });
    const { platform, waits } = clientOf(url);
    const wanted = { name: 'calls', url: 'https://calls.example.com' };
    expect(await platform.subscriptions.create(wanted)).toMatchObject({ subscription: { id: 'sub_1' } });
    expect(received).toHaveLength(2);
    expect(waits).toEqual([1_250]);
  });

  it('a write that was refused a connection: it was not sent', async () => {
    const { platform, waits } = clientOf(await addressOfNobody());
    expect(await platformError(platform.prompts.generate({ raw_prompt: 'a' }))).toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(waits).toEqual([250, 500, 1_000]);
  });

  it('a write to a server with an untrusted certificate: it was not sent', async () => {
    let requests = 0;
    const server = createSecureServer({ cert, key }, () => (requests += 1)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { platform, waits } = clientOf(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const { code, message } = await platformError(platform.prompts.generate({ raw_prompt: 'a' }));
    expect({ code, waits, requests }).toEqual({ code: 'unreachable', waits: [250, 500, 1_000], requests: 0 });
    expect(message).toContain('NODE_EXTRA_CA_CERTS');
    expect(message).not.toContain('may have carried out');
  });

  test.each<[string, Error]>([
    ['its name is not found', failure('getaddrinfo', 'EAI_AGAIN')],
    ['no address of its name answers', new AggregateError([failure('connect', 'ECONNREFUSED')])],
    ['connecting takes too long', failure(undefined, 'UND_ERR_CONNECT_TIMEOUT')],
  ])('a write while %s', async (_, cause) => {
    const { url, received } = await standIn({ json: { user_id: 'u', prompt_id: 'p', prompt: 'b' } });
    let isDown = true;
    const { platform } = clientOf(url, {
      fetch: (...request) => {
        if (!isDown) return fetch(...request);
        isDown = false;
        return Promise.reject(new TypeError('fetch failed', { cause }));
      },
    });
    expect(await platform.prompts.generate({ raw_prompt: 'a' })).toMatchObject({ prompt: 'b' });
    expect(received).toHaveLength(1);
  });

  it('a read in a process that has nothing else to do', { tags: 'long' }, async () => {
    const { url } = await standIn({ status: 503, headers: { connection: 'close' }, json: {} }, { json: kb });
    const script = new Script(fileURLToPath(new URL('retrying-process.ts', import.meta.url)), url);
    expect(await script.line('name')).toEqual({ name: 'Handbook' });
    expect(await script.exit()).toBe(0);
  });

  it('a read as often as the option retry allows, after waits that grow up to its cap', async () => {
    const { url, received } = await standIn({ status: 503, json: { error: 'db', message: 'down' } });
    const { platform, waits } = clientOf(url, { retry: { attempts: 3, base: 100, factor: 10, cap: 600 } });
    expect(await platformError(platform.knowledgeBases.get('kb_1'))).toMatchObject({
      status: 503,
      code: 'db',
    });
    expect(received).toHaveLength(3);
    expect(waits).toEqual([50, 300]);
  });
});

describe('what is not tried again', () => {
  test.each([400, 401, 403, 404, 409, 422, 501])('a read that is answered with %i', async (status) => {
    const { url, received } = await standIn({ status, json: {} });
    await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'));
    expect(received).toHaveLength(1);
  });

  test.each([
    ['with 408', { status: 408, json: {} }],
    ['with 500', { status: 500, json: {} }],
    ['with 502', { status: 502, json: {} }],
    ['with 503 that does not ask to come back', { status: 503, json: {} }],
    ['by a broken connection', reset],
  ])('a write that is answered %s: it may have been done', async (_, answer) => {
    const { url, received } = await standIn(answer);
    await platformError(clientOf(url).platform.prompts.generate({ raw_prompt: 'a' }));
    expect(received).toHaveLength(1);
  });

  test.each<[string, Error]>([
    ['breaks', failure('read', 'ECONNRESET')],
    ['fails for a reason that is not known', new Error('no idea')],
    ['breaks on one of several addresses', new AggregateError([failure('read', 'ECONNRESET')])],
  ])('a write whose connection %s', async (_, cause) => {
    const { platform, waits } = clientOf('http://127.0.0.1:9', {
      fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
    });
    await platformError(platform.prompts.generate({ raw_prompt: 'a' }));
    expect(waits).toEqual([]);
  });
});

describe('Retry-After', () => {
  const answers = (retryAfter: string) =>
    standIn(
      (response) => {
        response.sendDate = false;
        response.writeHead(503, { 'retry-after': retryAfter }).end('{}');
      },
      { json: kb },
    );

  test.each([
    ['seconds', '7', [7_250]],
    ['a date', 'Thu, 01 Jan 2026 00:00:09 GMT', [9_250]],
    ['a date that is over', 'Wed, 31 Dec 2025 23:00:00 GMT', [250]],
    ['something else', 'soon', [250]],
    ['nearly the cap', '30', [30_000]],
  ])('is waited for: %s', async (_, text, expected) => {
    const { url } = await answers(text);
    const { platform, waits } = clientOf(url);
    await platform.knowledgeBases.get('kb_1');
    expect(waits).toEqual(expected);
  });

  it("is a date of the platform's clock, whatever this machine's says", async () => {
    const headers = {
      date: 'Thu, 01 Jan 2026 05:00:00 GMT',
      'retry-after': 'Thu, 01 Jan 2026 05:00:07 GMT',
    };
    const { url } = await standIn({ status: 503, headers, json: {} }, { json: kb });
    const { platform, waits } = clientOf(url);
    await platform.knowledgeBases.get('kb_1');
    expect(waits).toEqual([7_250]);
  });

  it('ends the attempts when it exceeds the cap, and is in the error', async () => {
    const { url, received } = await answers('31');
    expect(await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'))).toMatchObject({
      retryAfter: 31_000,
    });
    expect(received).toHaveLength(1);
  });
});

describe('a signal', () => {
  it('ends a request before it is sent', async () => {
    const { url, received } = await standIn({ json: kb });
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(clientOf(url).platform.knowledgeBases.get('kb_1', { signal })).rejects.toThrow('enough');
    expect(received).toEqual([]);
  });

  it('ends a request in flight', async () => {
    const { url, received } = await standIn(() => {});
    const controller = new AbortController();
    const pending = clientOf(url).platform.knowledgeBases.get('kb_1', { signal: controller.signal });
    const ended = expect(pending).rejects.toThrow('enough');
    await expect.poll(() => received.length).toBe(1);
    controller.abort(new Error('enough'));
    await ended;
  });

  it('ends the wait between two attempts', async () => {
    const clock = new ManualClock();
    const { url, received } = await standIn({ status: 503, json: {} });
    const platform = createPlatform({ baseUrl: url, apiKey, clock, random: () => 0.5 });
    const controller = new AbortController();
    const pending = platform.knowledgeBases.get('kb_1', { signal: controller.signal });
    const ended = expect(pending).rejects.toThrow('enough');
    await clock.timer(250);
    controller.abort(new Error('enough'));
    await ended;
    expect(received).toHaveLength(1);
  });

  it('does not abort a request that may issue a secret, which would be lost', async () => {
    const controller = new AbortController();
    const { url } = await standIn((response) => {
      controller.abort(new Error('enough'));
      response.writeHead(201).end(JSON.stringify({ ...answered, secret: 'whsec_dGVzdA==' }));
    });
    const { secret } = await clientOf(url).platform.subscriptions.create(
      { name: 'calls', url: 'https://calls.example.com' },
      { signal: controller.signal },
    );
    expect(secret?.reveal()).toBe('whsec_dGVzdA==');
  });

  test.each([undefined, 'x', {}])('is refused when it is %j', async (signal) => {
    const { url } = await standIn({ json: kb });
    const asked = clientOf(url).platform.knowledgeBases.get('kb_1', {
      signal: signal as AbortSignal | undefined,
    });
    if (signal === undefined) expect(await asked).toMatchObject(kb);
    else await expect(asked).rejects.toThrow(/The option signal in knowledgeBases\.get/);
  });
});

it('logs what is tried again, without the key', async () => {
  const logs = new Logs();
  const { url } = await standIn({ status: 503, json: { error: 'db', message: apiKey } }, { json: kb });
  await clientOf(url, { logger: logs.logger }).platform.knowledgeBases.get('kb_1');
  expect(logs.lines).toMatchObject([
    { operation: 'knowledgeBases.get', attempt: 1, status: 503, code: 'db', delay: 250 },
  ]);
  expect(JSON.stringify(logs.lines)).not.toContain(apiKey);
});
