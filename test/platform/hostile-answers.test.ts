import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';
import { answered, apiKey, clientOf, platformError, standIn } from './support.ts';

const deepest = 30_000;

/** The error for a request for a knowledge base to a hostile platform with this answer. */
async function refused(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
  const { url } = await standIn({ status, body, headers });
  return platformError(clientOf(url, { retry: { attempts: 1 } }).platform.knowledgeBases.get('kb_1'));
}

/** The error for creating a subscription with these headers, when the platform's refusal quotes them. */
async function quoted(headers: Readonly<Record<string, string>>, json: unknown): Promise<string> {
  const { url } = await standIn({ status: 400, json });
  const wanted = { name: 'calls', url: 'https://calls.example.com/webhooks', headers };
  const error = await platformError(clientOf(url).platform.subscriptions.create(wanted));
  expect(error.message).toContain('[hidden]');
  return inspect(error, { depth: 9, showHidden: true });
}

describe('a refusal that is not in the form of the document', () => {
  test.each([
    ['a place that is nested as deep as it likes', `${'['.repeat(deepest)}${']'.repeat(deepest)}`],
    ['a place that cannot be written as text', '[{"toString":1}]'],
  ])('becomes a PlatformError with %s', async (_what, loc) => {
    const error = await refused(422, `{"detail":[{"loc":${loc},"msg":"Field required"}]}`);
    expect(error).toMatchObject({ status: 422, code: 'HTTPValidationError' });
    expect(error.message).toContain('Field required');
  });

  test('ends the connection of a redirect whose page has no end', async () => {
    const ended = Promise.withResolvers<void>();
    const { url } = await standIn((response: ServerResponse) => {
      response.writeHead(302, { location: '/elsewhere' }).write('a page');
      void once(response, 'close').then(() => ended.resolve());
    });
    expect(await platformError(clientOf(url).platform.knowledgeBases.get('kb_1'))).toMatchObject({
      code: 'redirected',
    });
    await ended.promise;
  });
});

describe('a long list in another shape', () => {
  const items = (item: object) => Array.from({ length: 100_000 }, () => item);

  test.each([
    ['texts', { success: true, links: items({ url: 'https://www.example.com' }) }, 'links.0'],
    ['objects', { knowledge_bases: items({}) }, 'knowledge_bases.0.id'],
  ])('of %s is reported by its first items', async (_, json, path) => {
    const { url } = await standIn({ json });
    const { platform } = clientOf(url);
    const asked =
      'links' in json
        ? platform.websites.sitemaps('https://www.example.com')
        : platform.knowledgeBases.list().next();
    const { code, details } = await platformError(asked);
    expect(code).toBe('unexpected_answer');
    expect(details).toHaveLength(20);
    expect(details).toEqual(expect.arrayContaining([expect.objectContaining({ path })]));
  });
});

test(
  'an object with very many wrong values is reported with the first of them',
  { tags: 'long' },
  async () => {
    const headers = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`h${index}`, index]));
    const { url } = await standIn({ json: { ...answered, headers } });
    const { code, details } = await platformError(clientOf(url).platform.subscriptions.get('sub_1'));
    expect(code).toBe('unexpected_answer');
    expect(details).toHaveLength(20);
    expect(details).toEqual(expect.arrayContaining([expect.objectContaining({ path: 'headers.h0' })]));
  },
);

describe('an error holds no credential', () => {
  test('the key as the type of an answer', async () => {
    const error = await refused(200, 'hello', { 'content-type': `text/${apiKey}` });
    expect(error).toMatchObject({ code: 'not_json' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(apiKey);
  });

  test('the key in the place of the options', () => {
    const create = untyped(createPlatform);
    expect(() => create(apiKey)).toThrow(/createPlatform\(options\) should be an object/);
    expect(() => create(apiKey)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(apiKey) }),
    );
  });

  test('a credential that begins with another', async () => {
    const headers = { 'x-tenant': 'tenant', 'x-key': 'tenant-0815' };
    expect(await quoted(headers, { type: 'x', message: 'tenant-0815 is wrong' })).not.toContain('0815');
  });

  test('a credential with characters that JSON writes otherwise', async () => {
    const headers = { 'x-key': '{"token":"0815"}' };
    expect(await quoted(headers, { type: 'x', message: 'wrong', details: { headers } })).not.toContain(
      '0815',
    );
  });

  test('a credential that is quoted without its scheme', async () => {
    const headers = { authorization: 'Bearer token-0815' };
    expect(await quoted(headers, { type: 'x', message: 'token-0815 is wrong' })).not.toContain('0815');
  });
});

describe('the names of fields cannot forge lines in a log', () => {
  const name = 'field\n{"level":"info"}';

  it('where one is not as it should be', async () => {
    const { url } = await standIn({ json: { ...answered, headers: { [name]: 1 } } });
    const { message } = await platformError(clientOf(url).platform.subscriptions.get('sub_1'));
    expect(message).toContain('headers.field {');
  });

  it('where one would be cleared by an update', async () => {
    const { url } = await standIn({ json: { ...answered, [name.padEnd(10_000)]: 1 } });
    const update = clientOf(url).platform.subscriptions.update('sub_1', { active: false });
    await expect(update).rejects.toMatchObject({
      code: 'update_unsafe',
      message: expect.not.stringMatching(/\n/),
    });
    await expect(update).rejects.toMatchObject({ message: expect.not.stringMatching(/.{1000}/) });
  });
});

it('a scope that no text can be made of stops no update', async () => {
  const { url, received } = await standIn(
    { json: { ...answered, scope: { toString: 1 } } },
    { json: answered },
  );
  await clientOf(url).platform.subscriptions.update('sub_1', { active: true });
  expect(received.map(({ method }) => method)).toEqual(['GET', 'PUT']);
});
