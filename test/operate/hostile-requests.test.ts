/** Whatever text a request has in its path, its query or its body, it is answered and never fails inside. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Route } from '../../src/operate/api/route.ts';
import { routes } from '../../src/operate/api/routes.ts';
import { started } from '../support/receiver.ts';

const texts = [
  '\0',
  '\ufffd',
  '__proto__',
  'constructor',
  '%',
  "' or 1=1 --",
  '(a+)+$',
  '{"$gt":""}',
  '-1',
  '1e309',
  '9007199254740993',
  '..',
  '\u202e<img src=x onerror=alert(1)>\r\nset-cookie: a=b',
  'x'.repeat(8_000),
];

test('no text in a request makes any route fail inside', { tags: 'long' }, async () => {
  const { receiver, logs } = await started({}, (r) => r.on('*', { name: 'crm' }, () => {}));
  const api = receiver.api({ authorize: () => 'all' });
  const ask = async ({ method, path }: Pick<Route, 'method' | 'path'>, query: object, body: object) => {
    const target = `${path}?${new URLSearchParams({ ...query }).toString()}`;
    const headers = { 'x-ringback-request': '1', 'content-type': 'application/json' };
    const asked = { method, headers, ...(method !== 'GET' && { body: JSON.stringify(body) }) };
    const response = await api.fetch(new Request(`http://localhost${target}`, asked));
    const status: unknown = expect.toBeOneOf([200, 400, 404, 409]);
    expect([method, target, body, response.status]).toEqual([method, target, body, status]);
    JSON.parse(await response.text());
  };
  for (const { method, path, query, body } of routes)
    for (const text of texts) {
      const segment = encodeURIComponent(text).replace(/^\.\.$/, '~..');
      const route = { method, path: path.replace(/\{\w+\}/, segment) };
      if (route.path !== path) await ask(route, {}, {});
      for (const name of Object.keys(query?.shape ?? {})) await ask(route, { [name]: text }, {});
      for (const [name, schema] of Object.entries(body?.shape ?? {})) {
        await ask(route, {}, { [name]: text });
        if (schema instanceof z.ZodObject)
          for (const inner of Object.keys(schema.shape))
            await ask(route, {}, { [name]: { [inner]: text }, reason: text });
      }
    }
  expect(logs.of('api_failed')).toEqual([]);
});
