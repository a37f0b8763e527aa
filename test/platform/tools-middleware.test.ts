import { once } from 'node:events';
import { connect } from 'node:net';
import express5 from 'express';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigError } from '../../src/index.ts';
import {
  type Tool,
  ToolError,
  type ToolMiddlewareOptions,
  defineTool,
  toolMiddleware,
} from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';
import { ManualClock } from '../support/clock.ts';
import { listening } from '../support/servers.ts';

// @ts-expect-error Express 4 is here under another name, for which there are no types.
import express4 from 'express4';

const versions: readonly (readonly [string, typeof express5])[] = [
  ['Express 5', express5],
  ['Express 4', express4 as typeof express5],
];
type Body = string | Uint8Array<ArrayBuffer>;

const key = { 'x-tool-key': 'the key of the tools' };
const json = { ...key, 'content-type': 'application/json' };

const add = defineTool({
  name: 'add',
  description: 'Adds numbers.',
  parameters: z.object({ numbers: z.array(z.number()).describe('The numbers to add') }),
  run: ({ numbers }) => ({ sum: numbers.reduce((sum, number) => sum + number, 0) }),
});
const greet = defineTool({
  name: 'greet',
  description: 'Greets somebody.',
  parameters: z.object({ name: z.string().describe('Who is greeted') }),
  run: ({ name }, { additional }) => ({ hello: name, ...additional }),
});

/** A tool with this `run`, which takes no arguments. */
const doing = (run: (signal: AbortSignal) => unknown): Tool =>
  defineTool({
    name: 'doing',
    description: 'Does it.',
    parameters: z.object({}),
    run: (_args, { signal }) => run(signal),
  });

/** Tools on a port of their own, and a function that calls them. */
async function served(tools: readonly Tool[], options: Partial<ToolMiddlewareOptions> = {}) {
  const url = `http://127.0.0.1:${await listening(toolMiddleware(tools, { headers: key, ...options }))}`;
  return {
    url,
    call: (path: string, body: Body | undefined, headers: Record<string, string> = json, method = 'POST') =>
      answered(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) }),
  };
}

async function answered(url: string, request: RequestInit): Promise<{ status: number; json: unknown }> {
  const response = await fetch(url, request);
  return { status: response.status, json: await response.json() };
}

test('the signal of a call is not aborted by its answer', async () => {
  const signals: AbortSignal[] = [];
  const middleware = toolMiddleware([doing((signal) => ({ count: signals.push(signal) }))], { headers: key });
  const closed = Promise.withResolvers<void>();
  const port = await listening((request, response) => {
    middleware(request, response);
    response.once('close', closed.resolve);
  });
  expect((await answered(`http://127.0.0.1:${port}`, { method: 'POST', headers: json })).status).toBe(200);
  await closed.promise;
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
});

const digits = '1234567890123456789';
const text = z.string();

test.each([
  [text, digits, digits],
  [z.array(text), `[${digits}]`, [digits]],
  [z.array(text), `"[${digits}]"`, [digits]],
  [z.object({ no: text.describe('Which') }), `"{\\"no\\":${digits}}"`, { no: digits }],
])('an order number keeps all of its digits: %#', async (schema, sent, expected) => {
  const tell = defineTool({
    name: 'tell',
    description: 'Says what it was told.',
    parameters: z.object({ told: schema.describe('What') }),
    run: ({ told }) => ({ told }),
  });
  const { call } = await served([tell]);
  expect(await call('/tell', `{"told":${sent}}`)).toMatchObject({ json: { told: expected } });
});

test.each(['utf8', 'latin1', 'base64'] as const)(
  'a body is read although a middleware has set its encoding to %s',
  async (encoding) => {
    const app = express5();
    app.use((request, _response, next) => {
      request.setEncoding(encoding);
      next();
    });
    app.use(toolMiddleware([greet], { headers: key }));
    const url = `http://127.0.0.1:${await listening(app)}/greet`;
    const body = JSON.stringify({ name: 'Zoë' });
    expect(await answered(url, { method: 'POST', headers: json, body })).toMatchObject({
      json: { hello: 'Zoë' },
    });
  },
);

describe.each(versions)('%s', (_name, express) => {
  test.each<[string, (app: ReturnType<typeof express5>) => unknown]>([
    ['before any parser', () => {}],
    ['behind express.json', (app) => app.use(express.json())],
    ['behind express.raw', (app) => app.use(express.raw({ type: '*/*' }))],
    ['behind express.text', (app) => app.use(express.text({ type: '*/*' }))],
    ['behind a parser of something else', (app) => app.use(express.urlencoded({ extended: false }))],
  ])('answers %s', async (_where, parse) => {
    const app = express();
    parse(app);
    app.use('/tools', toolMiddleware([add, greet], { headers: key }));
    const url = `http://127.0.0.1:${await listening(app)}/tools`;
    const body = '{"numbers":[1,"2",3.5]}';
    expect(await answered(`${url}/add`, { method: 'POST', headers: json, body })).toEqual({
      status: 200,
      json: { sum: 6.5 },
    });
    expect(await answered(`${url}/greet/?name=Ada&branch=north`, { headers: key })).toEqual({
      status: 200,
      json: { hello: 'Ada', branch: 'north' },
    });
    expect(await answered(`${url}/add`, { method: 'POST', headers: key })).toMatchObject({
      status: 200,
      json: { error: expect.stringContaining('numbers (The numbers to add) is missing') },
    });
  });
});

describe('a call', () => {
  test('goes to the tool that the last part of the path names, or to the only one', async () => {
    const both = await served([add, greet]);
    expect((await both.call('/deep/in/tools/greet', '{"name":"Ada"}')).json).toEqual({
      hello: 'Ada',
    });
    expect(await both.call('/subtract', '{}')).toEqual({
      status: 404,
      json: { error: 'There is no such tool.' },
    });
    expect((await both.call('/constructor', '{}')).status).toBe(404);
    const one = await served([add]);
    expect((await one.call('/whatever', '{"numbers":[1]}')).json).toEqual({ sum: 1 });
  });

  test.each(['POST', 'PUT', 'PATCH'])('of %s has its arguments in the body', async (method) => {
    const { call } = await served([add]);
    expect((await call('/add?numbers=9', '{"numbers":[1,2]}', json, method)).json).toEqual({ sum: 3 });
  });

  test.each(['GET', 'DELETE'])('of %s has its arguments in the query', async (method) => {
    const { call } = await served([add]);
    expect((await call('/add?numbers=1&numbers=2', undefined, key, method)).json).toEqual({ sum: 3 });
    expect((await call('/add?numbers=4', undefined, key, method)).json).toEqual({ sum: 4 });
  });

  test.each<[string, Record<string, string>]>([
    ['without the header', {}],
    ['with another value', { 'x-tool-key': 'the key of the fools' }],
    ['with part of the value', { 'x-tool-key': 'the key' }],
    ['with an empty value', { 'x-tool-key': '' }],
    ['with the value in another header', { authorization: 'the key of the tools' }],
  ])('%s is refused, whatever it asks for', async (_what, headers) => {
    const { call } = await served([add, greet]);
    for (const path of ['/add', '/no-such-tool']) {
      expect(await call(path, '{"numbers":[1]}', headers)).toEqual({
        status: 401,
        json: { error: 'The tool did not accept this call.' },
      });
    }
  });

  test('needs all headers, whatever the case of their names', async () => {
    const { call } = await served([add], { headers: { 'X-Tool-Key': 'one', Authorization: 'Bearer two' } });
    const all = { 'x-tool-key': 'one', authorization: 'Bearer two' };
    expect((await call('/add', '{"numbers":[1]}', all)).status).toBe(200);
    expect((await call('/add', '{"numbers":[1]}', { 'x-tool-key': 'one' })).status).toBe(401);
    expect((await call('/add', '{"numbers":[1]}', { authorization: 'Bearer two' })).status).toBe(401);
  });

  test.each<[string, number, Body, Record<string, string>]>([
    ['is no JSON', 400, '{"numbers":', {}],
    ['is no UTF-8', 400, new Uint8Array([0x22, 0xff, 0x22]), {}],
    ['is compressed', 415, '{}', { 'content-encoding': 'gzip' }],
    ['is too large', 413, `"${'x'.repeat(1024 * 1024)}"`, {}],
  ])('whose body %s is answered with %i and a sentence', async (_what, status, body, headers) => {
    const { call } = await served([add]);
    const answer = await call('/add', body, { ...json, ...headers });
    expect(answer).toEqual({ status, json: { error: expect.stringMatching(/^[A-Z].*\.$/) } });
  });

  test('with another method is answered with 405', async () => {
    const { url } = await served([add]);
    const response = await fetch(url, { method: 'OPTIONS', headers: key });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, PUT, PATCH, DELETE']);
  });
});

describe('a result', () => {
  test.each<[unknown, unknown]>([
    [{ a: 1 }, { a: 1 }],
    [[1, 2], { result: [1, 2] }],
    ['done', { result: 'done' }],
    [undefined, { result: null }],
    [null, { result: null }],
    [new Date(0), { result: '1970-01-01T00:00:00.000Z' }],
    [Promise.resolve(7), { result: 7 }],
  ])('%j is answered as an object', async (result, expected) => {
    const { call } = await served([doing(() => result)]);
    expect(await call('/', undefined)).toEqual({ status: 200, json: expected });
  });
});

describe('an error', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });

  test('that the agent may speak about is answered with 200 and its sentence', async () => {
    const run = () => {
      throw new ToolError('There is no order with that number.');
    };
    const { call } = await served([doing(run)]);
    expect(await call('/', '{}')).toEqual({
      status: 200,
      json: { error: 'There is no order with that number.' },
    });
  });

  test.each<[string, () => unknown]>([
    ['an error', () => Promise.reject(new RangeError('caller +49 30 1234 is unknown'))],
    ['an error of a name', () => Promise.reject(Object.assign(new Error(), { name: '+49 30 1234' }))],
    ['no error at all', () => Promise.reject('+49 30 1234')],
    ['a result that JSON can not write', () => ({ phone: '+49 30 1234', big: 1n })],
  ])('that it may not (%s) is reported nowhere', async (_what, run) => {
    lines.length = 0;
    const { call } = await served([doing(run)], { logger });
    expect(await call('/', '{}')).toEqual({ status: 500, json: { error: 'That did not work just now.' } });
    const cause = expect.stringMatching(/^(RangeError|Error|TypeError|string)$/) as string;
    expect(lines).toMatchObject([{ level: 40, event: 'tool_failed', tool: 'doing', code: 'failed', cause }]);
    expect(JSON.stringify(lines)).not.toMatch(/(30|wrong) 1234/);
    expect(JSON.stringify(lines)).not.toContain('stack');
  });

  test("is logged with the location in the app's own files", async () => {
    lines.length = 0;
    const run = () => {
      throw new RangeError('at (/+49 30 1234.ts:1:1)');
    };
    const { call } = await served([doing(run)], { logger });
    await call('/', '{}');
    const location = expect.stringMatching(/^test\/platform\/tools-middleware\.test\.ts:\d+:\d+$/) as string;
    expect(lines).toMatchObject([{ event: 'tool_failed', cause: 'RangeError', location }]);
  });

  test('of arguments leaves none of them in the log', async () => {
    lines.length = 0;
    const { call } = await served([greet], { logger });
    await call('/', '{"name":{"private":"+49 30 1234"}}');
    await call('/', '{"name":"+49 30 1234"}');
    await call('/', '{"name":"+49 30 1234"}', { 'x-tool-key': 'wrong 1234' });
    expect(lines.map(({ event }) => event)).toEqual(['tool_declined', 'tool_called', 'tool_refused']);
    expect(JSON.stringify(lines)).not.toMatch(/(30|wrong) 1234/);
    expect(JSON.stringify(lines)).not.toContain('the key');
  });
});

test('callers without the key can not fill the log', async () => {
  const clock = new ManualClock();
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { call } = await served([add], { clock, logger });
  for (let count = 0; count < 50; count += 1)
    expect(await call('/', '{}', { 'x-tool-key': 'wrong' })).toMatchObject({ status: 401 });
  clock.advance(1_000);
  expect(lines.map(({ count }) => count)).toEqual([...Array.from({ length: 5 }), 45]);
  expect(lines.at(-1)).toMatchObject({ event: 'tool_refused', code: 'not_authentic' });
});

describe('the deadline', () => {
  test('aborts the signal, and is answered with 504', async () => {
    const clock = new ManualClock();
    const begun = Promise.withResolvers<AbortSignal>();
    const run = (signal: AbortSignal) => {
      begun.resolve(signal);
      return new Promise(() => {});
    };
    const { call } = await served([doing(run)], { clock, timeout: '3s' });
    const calling = call('/', '{}');
    const signal = await begun.promise;
    clock.advance(2_999);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(await calling).toEqual({ status: 504, json: { error: 'That is taking too long just now.' } });
  });

  test('counts for a body that does not come', async () => {
    const clock = new ManualClock();
    const { url } = await served([add], { clock });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      'POST /add HTTP/1.1\r\nhost: a\r\nx-tool-key: the key of the tools\r\ncontent-length: 9\r\n\r\n{',
    );
    await clock.timer(10_000);
    clock.advance(10_000);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 504 /);
    socket.destroy();
  });

  test('is not followed by a call when the body comes late', async () => {
    const clock = new ManualClock();
    let calls = 0;
    const count = () => {
      calls += 1;
      return 'done';
    };
    const { url, call } = await served([doing(count)], { clock });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      'POST / HTTP/1.1\r\nhost: a\r\nx-tool-key: the key of the tools\r\ncontent-length: 2\r\n\r\n{',
    );
    await clock.timer(10_000);
    clock.advance(10_000);
    await once(socket, 'data');
    socket.end('}');
    await once(socket.resume(), 'close');
    await call('/', '{}');
    expect(calls).toBe(1);
  });

  test('does not wait for a caller that has disconnected', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const run = (signal: AbortSignal) => {
      begun.resolve(signal);
      return new Promise(() => {});
    };
    const { url } = await served([doing(run)]);
    const gone = new AbortController();
    const calling = fetch(url, { method: 'POST', headers: json, body: '{}', signal: gone.signal });
    const signal = await begun.promise;
    gone.abort();
    await expect(calling).rejects.toThrow();
    await expect.poll(() => signal.aborted).toBe(true);
  });
});

test('a caller that has disconnected while an earlier middleware was working makes no tool act', async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const middleware = toolMiddleware([doing(() => 'done')], { headers: key, logger });
  const gone = new AbortController();
  const app = express5();
  app.use(express5.json(), (_request, response, next) => {
    response.once('close', next);
    gone.abort();
  });
  app.use(middleware);
  const url = `http://127.0.0.1:${await listening(app)}/`;
  const calling = fetch(url, { method: 'POST', headers: json, body: '{"a":1}', signal: gone.signal });
  await expect(calling).rejects.toThrow();
  await expect.poll(() => lines).toMatchObject([{ event: 'tool_failed', code: 'broken_off' }]);
});

test.each<[string, unknown, unknown, RegExp]>([
  ['no headers', [add], {}, /headers in toolMiddleware/],
  ['an empty object of headers', [add], { headers: {} }, /headers in toolMiddleware .*at least one header/],
  ['an empty value', [add], { headers: { 'x-key': '' } }, /headers\.x-key .*non-empty .*, but is empty/],
  ['no tools', [], { headers: key }, /tools in toolMiddleware should be a list of one or more/],
  ['two tools of one name', [add, add], { headers: key }, /tools\.1\.name .*a unique name.*"add"/],
  ['what is no tool', [{ name: 'add' }], { headers: key }, /tools\.0 in toolMiddleware should be made with/],
  ['no time', [add], { headers: key, timeout: 0 }, /timeout in toolMiddleware/],
  ['an unknown option', [add], { headers: key, timeOut: 1 }, /Did you mean timeout\?/],
])('is refused with %s', (_what, tools, options, sentence) => {
  const making = () => toolMiddleware(untyped(tools), untyped(options));
  expect(making).toThrow(ConfigError);
  expect(making).toThrow(sentence);
  expect(making).not.toThrow('the key of the tools');
});
