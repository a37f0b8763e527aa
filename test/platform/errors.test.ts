import { inspect } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { type Platform, createPlatform } from '../../src/platform/index.ts';
import { ManualClock } from '../support/clock.ts';
import {
  type Scripted,
  addressOfNobody,
  answered,
  apiKey,
  clientOf,
  kb,
  otherKey,
  platformError,
  sandboxAndPlatform,
  standIn,
} from './support.ts';

describe("the document's error bodies become one PlatformError", () => {
  it("a knowledge base's 401 and 404", async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    expect(await platformError(platform.knowledgeBases.get('kb_of_nobody'))).toMatchObject({
      operation: 'knowledgeBases.get',
      status: 404,
      code: expect.any(String),
      message: expect.stringContaining('Knowledge base not found'),
    });
    const unauthenticated = createPlatform({ baseUrl: sandbox.url, apiKey: 'key-of-nobody' });
    expect(await platformError(unauthenticated.knowledgeBases.get('kb_1'))).toMatchObject({
      status: 401,
      message: expect.stringContaining('Check that apiKey'),
    });
  });

  it('reveals nothing about a knowledge base of another tenant', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    const other = createPlatform({ baseUrl: sandbox.url, apiKey: otherKey });
    const [foreign, missing] = await Promise.all([
      platformError(other.knowledgeBases.get('kb_1')),
      platformError(platform.knowledgeBases.get('kb_9')),
    ]);
    expect(foreign).toEqual(missing);
  });

  it("a knowledge base's 422", async () => {
    const { platform } = await sandboxAndPlatform();
    expect(await platformError(platform.knowledgeBases.get('k'.repeat(257)))).toMatchObject({
      status: 422,
      code: 'HTTPValidationError',
      message: expect.stringContaining('path.kb_id'),
      details: [{ loc: ['path', 'kb_id'], msg: expect.any(String), type: expect.any(String) }],
    });
  });

  it("a knowledge base's 503, when it does not pass", async () => {
    const { sandbox, platform } = await sandboxAndPlatform({ retry: { attempts: 1 } });
    sandbox.fail('knowledge-bases', 1);
    expect(await platformError(platform.knowledgeBases.get('kb_1'))).toMatchObject({ status: 503 });
    expect(await platform.knowledgeBases.get('kb_1')).toMatchObject({ id: 'kb_1' });
  });

  it('an HTTPValidationError, with its three fields and no others', async () => {
    const item = { loc: ['body', 'raw_prompt', 0], msg: 'Field required', type: 'missing' };
    const { url } = await standIn({ status: 422, json: { detail: [{ ...item, input: 'what was sent' }] } });
    const error = await platformError(clientOf(url).platform.prompts.generate({ raw_prompt: 'a' }));
    expect(error).toMatchObject({ status: 422, code: 'HTTPValidationError', details: [item] });
    expect(error.message).toContain('body.raw_prompt.0: Field required');
    expect(error.details).toEqual([item]);
  });

  it("a subscription's validation error", async () => {
    const json = {
      status: 400,
      type: 'VALIDATION_ERROR',
      message: 'Invalid request.',
      details: { name: 'taken' },
      timestamp: '2026-01-01T00:00:00Z',
      path: '/v1/public/webhook/subscription',
      trace_id: 'trace-9',
    };
    const { url } = await standIn({ status: 400, json });
    expect(await platformError(clientOf(url).platform.subscriptions.get('sub_1'))).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      message:
        'subscriptions.get was answered with 400 (VALIDATION_ERROR): Invalid request: {"name":"taken"}.',
      details: { name: 'taken' },
      requestId: 'trace-9',
    });
  });

  it("a subscription's authentication error", async () => {
    const { sandbox } = await sandboxAndPlatform();
    const unauthenticated = createPlatform({ baseUrl: sandbox.url, apiKey: 'key-of-nobody' });
    expect(await platformError(unauthenticated.subscriptions.get('sub_1'))).toMatchObject({
      status: 401,
      code: 'Authentication',
      requestId: expect.any(String),
    });
  });
});

describe('an error advises', () => {
  it('to look at the website, where that is what could not be reached', async () => {
    const json = { error: 'website_unreachable', message: 'The website does not answer' };
    const { url } = await standIn({ status: 404, json });
    const sitemaps = clientOf(url).platform.websites.sitemaps('https://www.example.com');
    expect(await platformError(sitemaps)).toMatchObject({
      code: 'website_unreachable',
      message:
        'websites.sitemaps was answered with 404 (website_unreachable): The website does not answer. ' +
        "Check the website's address, and that the platform can reach it.",
    });
  });

  test.each([
    [500, 'The failure is in the platform.'],
    [502, 'The failure is in the platform or on the way to it.'],
    [504, 'The platform took too long to answer.'],
  ])('about %i, with how often it was tried', async (status, expected) => {
    const { url } = await standIn({ status, body: 'oops' });
    const error = await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'));
    expect(error).toMatchObject({ code: `http_${status}`, details: 'oops' });
    expect(error.message).toContain(expected);
    expect(error.message).toMatch(/ It was tried 4 times\.$/);
  });

  it('nothing that a code from outside could name', async () => {
    const { url } = await standIn({ status: 400, json: { error: 'constructor', message: 'No' } });
    expect((await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'))).message).toBe(
      'knowledgeBases.get was answered with 400 (constructor): No.',
    );
  });
});

describe('anything else becomes a PlatformError as well', () => {
  test.each<[string, Scripted, string]>([
    [
      'an error page',
      { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad</h1>' },
      'http_502',
    ],
    ['an empty error', { status: 418, body: '' }, 'http_418'],
    ['an error of another form', { status: 409, json: { reason: 'busy' } }, 'http_409'],
    ['an error that is a list', { status: 400, json: [1] }, 'http_400'],
    ['a text for a detail', { status: 404, json: { detail: 'Not Found' } }, 'HTTPValidationError'],
    ['a page instead of JSON', { body: '<!doctype html>' }, 'not_json'],
    ['no body', { body: '' }, 'not_json'],
    ['broken UTF-8', { body: Uint8Array.of(0x22, 0xff, 0x22) }, 'not_json'],
    ['another shape', { json: { ...kb, name: 7 } }, 'unexpected_answer'],
    ['null', { body: 'null' }, 'unexpected_answer'],
    ['too much', { body: `"${'x'.repeat(17 * 1024 ** 2)}"` }, 'too_large'],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' }, body: '' }, 'redirected'],
  ])('%s', async (_, answer, code) => {
    const { url, received } = await standIn(answer);
    const { platform } = clientOf(url, { retry: { attempts: 1 } });
    const error = await platformError(platform.knowledgeBases.get('kb_1'));
    expect(error).toMatchObject({ code, status: answer.status ?? 200, operation: 'knowledgeBases.get' });
    expect(error.message).toMatch(/^knowledgeBases\.get .*\.$/);
    expect(received).toHaveLength(1);
  });

  it('an error whose detail is an object keeps all of it', async () => {
    const json = { detail: { error: 'not_found', message: 'There is no such tool' } };
    const { url } = await standIn({ status: 404, json });
    expect(await platformError(clientOf(url).platform.customTools.get('agent_1', 'tool_1'))).toMatchObject({
      code: 'http_404',
      details: json,
    });
  });

  it('an error page is in the details by its beginning, on one line', async () => {
    const { url } = await standIn({ status: 400, body: `<h1>Bad</h1>\n${'x'.repeat(1_000)}` });
    const { details } = await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'));
    expect(details).toBe(`<h1>Bad</h1> ${'x'.repeat(287)}…`);
  });

  it('an error page without end is not carried around', async () => {
    const { url } = await standIn({ status: 400, json: { error: 'x', message: 'y'.repeat(70_000) } });
    const error = await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'));
    expect(error).toMatchObject({ code: 'http_400', details: undefined });
    expect(error.message.length).toBeLessThan(500);
  });

  it('a redirect takes the key nowhere', async () => {
    const elsewhere = await standIn({ json: kb });
    const { url } = await standIn({ status: 302, headers: { location: `${elsewhere.url}/x` }, body: '' });
    expect(await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'))).toMatchObject({
      code: 'redirected',
    });
    expect(elsewhere.received).toEqual([]);
  });

  it('an address where nothing listens', async () => {
    const error = await platformError(clientOf(await addressOfNobody()).platform.knowledgeBases.get('kb_1'));
    expect(error).toMatchObject({ code: 'unreachable', status: undefined });
    expect(error.message).toContain('ECONNREFUSED');
  });

  test.each([
    ['that does not begin', () => {}],
    ['that does not end', (response: { write: (text: string) => unknown }) => void response.write('{')],
  ])('an answer %s in time', async (_, answer) => {
    const clock = new ManualClock();
    const { url, received } = await standIn(answer);
    const platform = createPlatform({ baseUrl: url, apiKey, timeout: '3s', retry: { attempts: 1 }, clock });
    const pending = platformError(platform.knowledgeBases.get('kb_1'));
    await expect.poll(() => received.length).toBe(1);
    clock.advance(3_000);
    expect(await pending).toMatchObject({ code: 'timeout', status: undefined });
  });

  it('keeps unknown fields of an answer', async () => {
    const { url } = await standIn({ json: { ...kb, tags: ['new'], status: 'resting' } });
    expect(await clientOf(url).platform.knowledgeBases.get('kb_1')).toMatchObject({
      tags: ['new'],
      status: 'resting',
    });
  });
});

describe('an error never holds', () => {
  const everything = (error: Error) =>
    `${inspect(error, { depth: 9, showHidden: true })}${JSON.stringify(error)}`;

  test.each([
    ['an answer that quotes it', { error: 'bad', message: `Bearer ${apiKey} is no key` }],
    ['details that quote it', { type: 'bad', message: 'no', details: { [apiKey]: [apiKey] } }],
    ['a text that is no JSON', undefined],
    ['a form that is not known', { sent: { authorization: apiKey } }],
    ['a validation error', { detail: [{ loc: ['header', apiKey], msg: apiKey, type: 'x' }] }],
  ])('the key: %s', async (_, json) => {
    const { url } = await standIn({ status: 400, json, body: JSON.stringify(json) ?? `No: ${apiKey}` });
    const error = await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'));
    expect(everything(error)).not.toContain(apiKey);
  });

  it('the key, when fetch fails with it', async () => {
    const { platform } = clientOf('http://127.0.0.1:1', {
      fetch: () => Promise.reject(new Error(`cannot send ${apiKey}`)),
    });
    const error = await platformError(platform.knowledgeBases.get('kb_1'));
    expect(everything(error)).not.toContain(apiKey);
    expect(error.message).toContain('cannot send [hidden]');
  });

  it("a subscription's headers, or a signing secret", async () => {
    const message = 'headers.authorization: "Basic c2VjcmV0" and whsec_dGVzdA== are wrong';
    const { url } = await standIn({ json: answered }, { status: 400, json: { type: 'x', message } });
    const { platform } = clientOf(url);
    const patch = { headers: { authorization: 'Basic c2VjcmV0' } };
    const error = await platformError(platform.subscriptions.update('sub_1', patch));
    expect(error.message).toContain('[hidden]');
    expect(everything(error)).not.toMatch(/c2VjcmV0|dGVzdA/);
  });

  it('lines that an answer would forge in a log', async () => {
    const json = { error: 'x', message: 'one\r\n{"level":"info"}\u2028two' };
    const { url } = await standIn({ status: 400, json });
    const { message } = await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'));
    expect(message).not.toMatch(/[\r\n\u2028]/);
  });

  it('an answer nested as deep as it likes', async () => {
    const { url } = await standIn({ status: 400, body: '[{"a":'.repeat(20_000) + '1' + '}]'.repeat(20_000) });
    expect(await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'))).toMatchObject({
      code: 'http_400',
    });
  });
});

const written = { name: 'calls', url: answered.url };
const signed = { active: true, enable_signed_webhooks: true, events: ['*'] };

test.each<[string, (platform: Platform) => Promise<unknown>]>([
  ['subscriptions.create', ({ subscriptions }) => subscriptions.create(written)],
  ['subscriptions.replace', ({ subscriptions }) => subscriptions.replace('sub_1', { ...written, ...signed })],
  ['subscriptions.rotateSecret', ({ subscriptions }) => subscriptions.rotateSecret('sub_1')],
])('an answer to %s in another shape has its status', async (_, write) => {
  for (const json of [{ ...answered, name: 7 }, []]) {
    const { url } = await standIn({ status: 201, json });
    const error = await platformError(write(clientOf(url).platform));
    expect(error).toMatchObject({ code: 'unexpected_answer', status: 201 });
  }
  const { url } = await standIn({ status: 201, json: { previous_secret_expires_at: 'soon' } });
  expect((await platformError(write(clientOf(url).platform))).status).toBe(201);
});
