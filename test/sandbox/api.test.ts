import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { exchanged } from '../support/servers.ts';
import { ask, startedSandbox } from './support.ts';
import { twoTenants } from './tenants.ts';

const subscription = '/v1/public/webhook/subscription';

/** One operation for each form of errors, and the form of the answer to a request without a key. */
const operations = [
  { line: 'GET /api/v1/knowledge-bases/kb_1', form: 'error and message' },
  {
    line: 'GET /api/v1/knowledge-bases/documents/website/sitemaps?url=http://127.0.0.1:1',
    form: 'error and message',
  },
  { line: 'POST /v2/ai-agents/agent_1/custom-tools/', form: 'error and message' },
  { line: 'GET /v2/ai-agents/agent_1/custom-tools', form: 'error and message' },
  { line: 'POST /v1/prompt-generation/prompt/generate', form: 'error and message' },
  { line: 'GET /sandbox/attempts', form: 'error and message' },
  { line: `GET ${subscription}/sub_1`, form: 'Authentication' },
  { line: `POST ${subscription}`, form: 'Authentication' },
  { line: `PUT ${subscription}/sub_1`, form: 'Authentication' },
  { line: `DELETE ${subscription}/sub_1`, form: 'Authentication' },
  { line: `POST ${subscription}/sub_1/rotate/secret`, form: 'Authentication' },
  { line: 'GET /v1/public/webhook/subscriptions', form: 'Authentication' },
] as const;

const message = 'Missing or invalid bearer token';
const unauthorized = {
  'error and message': { error: 'unauthorized', message },
  Authentication: { error: 'Authentication', message, traceId: expect.any(String) },
};

describe('the key', () => {
  it.each(operations)('is needed: $line', async ({ line, form }) => {
    const sandbox = await startedSandbox();
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Bearer wrong',
      `Basic ${sandbox.apiKey}`,
      'Bearer a b',
    ]) {
      const { status, headers, json } = await ask(sandbox, line, { key: null, headers: { authorization } });
      expect([authorization, status]).toEqual([authorization, 401]);
      expect(json).toStrictEqual(unauthorized[form]);
      expect(headers.get('www-authenticate')).toBe('Bearer');
    }
    expect((await ask(sandbox, line, { key: null })).status).toBe(401);
  });

  it('is taken with the scheme in any case', async () => {
    const sandbox = await startedSandbox();
    const headers = { authorization: `bEARER ${sandbox.apiKey}` };
    expect((await ask(sandbox, 'GET /sandbox/attempts', { key: null, headers })).status).toBe(200);
  });

  it('is required before the body is read', async () => {
    const sandbox = await startedSandbox();
    const { status } = await ask(sandbox, `POST ${subscription}`, { key: 'wrong', body: '{' });
    expect(status).toBe(401);
  });
});

describe('a path without an operation', () => {
  it.each([
    '/',
    '/v1',
    '/v1/public/webhook/subscription/a/b',
    '/V1/public/webhook/subscriptions',
    '/%zz',
    '//',
    '/..',
  ])('%s is answered with 404, with a key or without', async (path) => {
    const sandbox = await startedSandbox();
    for (const key of [null, sandbox.apiKey ?? '']) {
      const { status, json } = await ask(sandbox, `GET ${path}`, { key });
      expect(status).toBe(404);
      expect(json).toStrictEqual({ error: 'not_found', message: 'There is no operation at this path' });
    }
  });
});

describe('another method', () => {
  it('is answered with 405 in the form of the path, and says which there are', async () => {
    const sandbox = await startedSandbox();
    const one = await ask(sandbox, 'PATCH /api/v1/knowledge-bases/kb_1');
    expect([one.status, one.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE']);
    expect(one.json).toStrictEqual({
      error: 'method_not_allowed',
      message: 'PATCH is not an operation of this path',
    });
    const other = await ask(sandbox, `PATCH ${subscription}/sub_1`);
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE']);
    expect(other.json).toMatchObject({ status: 405, type: 'METHOD_NOT_ALLOWED', details: {} });
  });
});

describe("a body that can't be read", () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const named = 'Should be application/json in UTF-8, and the Content-Type should say so';
  const bodies: readonly (readonly [
    string,
    string | Uint8Array<ArrayBuffer>,
    Record<string, string>,
    string,
  ])[] = [
    ['no JSON', '{"name":', {}, 'Should be JSON in UTF-8'],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), {}, 'Should be JSON in UTF-8'],
    ['UTF-16', Buffer.from('{}', 'utf16le'), {}, 'Should be JSON in UTF-8'],
    ['a form', 'name=a', { 'content-type': 'application/x-www-form-urlencoded' }, named],
    ['text', '{}', { 'content-type': 'text/plain' }, named],
    ['another charset', '{}', { 'content-type': 'application/json; charset=latin1' }, named],
    ['an empty charset', '{}', { 'content-type': 'application/json; charset=' }, named],
    ['compressed', '{}', { 'content-encoding': 'gzip' }, 'Should come as it is, without a Content-Encoding'],
    ['too large', `"${'x'.repeat(1024 ** 2)}"`, {}, 'Should have at most 1048576 bytes'],
    ['too deep', deep, {}, 'Should have at most 64 levels'],
  ];

  it.each(bodies)(
    'because it is %s is answered with 400 by subscriptions',
    async (_why, body, headers, msg) => {
      const sandbox = await startedSandbox();
      const { status, json } = await ask(sandbox, `POST ${subscription}`, { body, headers });
      expect(status).toBe(400);
      expect(json).toMatchObject({
        status: 400,
        type: 'VALIDATION_ERROR',
        details: { body: msg },
        path: subscription,
      });
    },
  );

  it.each(bodies)('because it is %s is answered with 422 by the others', async (_why, body, headers, msg) => {
    const sandbox = await startedSandbox();
    const line = 'POST /v1/prompt-generation/prompt/generate';
    const { status, json } = await ask(sandbox, line, { body, headers });
    expect(status).toBe(422);
    expect(json).toStrictEqual({ detail: [{ loc: ['body'], msg, type: expect.any(String) }] });
  });

  it.each(['application/json', 'Application/JSON; Charset="UTF-8"', 'application/json;charset=utf-8; v=1'])(
    'unless its media type is %s',
    async (type) => {
      const sandbox = await startedSandbox();
      const line = 'POST /v1/prompt-generation/prompt/generate';
      const { status } = await ask(sandbox, line, {
        body: '{"raw_prompt":"a"}',
        headers: { 'content-type': type },
      });
      expect(status).toBe(200);
    },
  );
});

describe('a request that is not HTTP', () => {
  it.each([
    ['rubbish', 'rubbish\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    ['too many headers', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ])('because of %s is answered all the same', async (_why, text, status) => {
    const sandbox = await startedSandbox();
    const answer = await exchanged(Number(new URL(sandbox.url).port), (write) => write(text));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('{"error":"bad_request","message":"');
  });

  it.each(['*', 'http://127.0.0.1/v1/calls/a', 'nowhere'])(
    'the target %s has no operation',
    async (target) => {
      const sandbox = await startedSandbox();
      const request = `GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`;
      const answer = await exchanged(Number(new URL(sandbox.url).port), (write) => write(request));
      expect(answer).toMatch(/^HTTP\/1.1 40[04] /);
      expect(answer).toMatch(/\{"error":"(?:not_found|bad_request)","message":"/);
    },
  );
});

describe('failures that were asked for', () => {
  it('are answered with 503, so many times, in the form of the operation', async () => {
    const sandbox = await startedSandbox({ seed: twoTenants });
    sandbox.fail('knowledge-bases', 2);
    sandbox.fail('subscriptions.list', 1);
    const key = 'key_of_ada';
    const read = () => ask(sandbox, 'GET /api/v1/knowledge-bases/kb_shared', { key });
    expect([(await read()).status, (await read()).status, (await read()).status]).toEqual([503, 503, 200]);
    const list = '/v1/public/webhook/subscriptions';
    const failed = await ask(sandbox, `GET ${list}?page_size=1`, { key });
    expect([failed.status, failed.json]).toMatchObject([
      503,
      { status: 503, type: 'SERVICE_UNAVAILABLE', path: list },
    ]);
    expect((await ask(sandbox, `GET ${list}?page_size=1`, { key })).status).toBe(200);
  });

  it('have the body of a knowledge base', async () => {
    const sandbox = await startedSandbox();
    sandbox.fail('knowledge-bases.get', 1);
    const { status, json } = await ask(sandbox, 'GET /api/v1/knowledge-bases/kb_demonstration');
    expect(status).toBe(503);
    expect(json).toStrictEqual({ error: 'unavailable', message: 'The database is not available' });
  });

  it('can be taken back', async () => {
    const sandbox = await startedSandbox();
    sandbox.fail('knowledge-bases', 5);
    sandbox.fail('knowledge-bases', 0);
    expect((await ask(sandbox, 'GET /api/v1/knowledge-bases/kb_demonstration')).status).toBe(200);
  });

  it("of an operation that there isn't are a mistake", async () => {
    const sandbox = await startedSandbox();
    expect(() => sandbox.fail('knowledge-base', 1)).toThrow(
      /one of .*knowledge-bases, knowledge-bases\.create/,
    );
    expect(() => sandbox.fail('knowledgeBases.get', 1)).toThrow(/Did you mean knowledge-bases\.get\?$/);
    expect(() => sandbox.fail('knowledge-bases', -1)).toThrow(/0 or more/);
  });
});

describe('answers', () => {
  it('do not reveal the server software', async () => {
    const sandbox = await startedSandbox();
    const { headers } = await ask(sandbox, 'GET /sandbox/attempts');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('etag')).toBeNull();
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('never repeat the key', async () => {
    const sandbox = await startedSandbox();
    const key = randomBytes(12).toString('hex');
    for (const { line } of operations) {
      expect((await ask(sandbox, line, { key })).text).not.toContain(key);
    }
  });
});
