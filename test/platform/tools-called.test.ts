import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createPlatform, defineTool, toolMiddleware } from '../../src/platform/index.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { runTool } from '../../src/sandbox/custom-tools/tool-caller.ts';
import { listening } from '../support/servers.ts';

const headers = { 'X-Tool-Key': 'the key of the tools' };
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const order = defineTool({
  name: 'order',
  description: 'Orders something.',
  parameters: z.object({
    article: z.string().describe('What'),
    count: z.int().default(1).describe('How many'),
    extras: z.array(z.string()).default([]).describe('What else'),
    gift: z
      .object({ to: z.string().describe('Whom') })
      .optional()
      .describe('A gift'),
  }),
  run: (args, { additional }) => ({ args, additional }),
});

/** A tool that is registered with this endpoint, as the platform stores it. */
function registered(endpoint: string, method: (typeof methods)[number] = 'POST') {
  const fixedParams = { branch: { description: 'Which shop', value: 'north' } };
  return order.registration({ endpoint, method, headers, fixedParams });
}

test.each(methods)('what is registered with %s is called, and answers', async (method) => {
  const url = `http://127.0.0.1:${await listening(toolMiddleware([order], { headers }))}/tools/order?shop=7`;
  const run = await runTool(registered(url, method), {
    article: 'lamp',
    count: 2,
    extras: ['bulb', 'plug'],
    gift: { to: 'Ada' },
  });
  const inQuery = ['GET', 'DELETE'].includes(method);
  expect(run).toEqual({
    status: 200,
    body: {
      args: { article: 'lamp', count: 2, extras: ['bulb', 'plug'], gift: { to: 'Ada' } },
      additional: { branch: 'north', ...(inQuery && { shop: '7' }) },
    },
    latencyMs: expect.any(Number),
    failure: undefined,
  });
});

test('one definition is registered at the platform, called by it, and answers', async () => {
  const sandbox = createSandbox({});
  await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const platform = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
  const endpoint = `http://127.0.0.1:${await listening(toolMiddleware([order], { headers }))}/tools/order`;
  const created = await platform.customTools.create('agent_demonstration', registered(endpoint));
  expect(created).toMatchObject({ ...registered(endpoint), created_at: expect.any(String) });
  expect(
    await sandbox.callTool('agent_demonstration', 'order', { article: 'lamp', count: '2' }),
  ).toMatchObject({
    status: 200,
    body: { args: { article: 'lamp', count: 2, extras: [] }, additional: { branch: 'north' } },
  });
  expect(await sandbox.callTool('agent_demonstration', 'order', {})).toMatchObject({
    status: 200,
    body: { error: "This can't be done yet: article (What) is missing." },
  });
});

test('a fixed parameter goes before what the model says, and headers of the tool before our own', async () => {
  const seen: unknown[] = [];
  const url = `http://127.0.0.1:${await listening((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      seen.push([request.method, request.url, request.headers['content-type'], JSON.parse(body)]);
      response.end('not JSON');
    });
  })}/a`;
  const tool = {
    additional_tool_info: {
      api: {
        endpoint: url,
        method: 'post',
        headers: { 'Content-Type': 'application/vnd.tool+json' },
        parameters: { fixed_params: { branch: { value: 'north' } } },
      },
    },
  };
  expect(await runTool(tool, { branch: 'south', article: 'lamp' })).toMatchObject({
    status: 200,
    body: 'not JSON',
  });
  expect(seen).toEqual([['POST', '/a', 'application/vnd.tool+json', { branch: 'north', article: 'lamp' }]]);
});

test('a redirect is not followed: the headers are credentials', async () => {
  let calls = 0;
  const target = await listening((_request, response) => {
    calls += 1;
    response.end();
  });
  const url = `http://127.0.0.1:${await listening((_request, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${target}/` }).end();
  })}`;
  expect(await runTool(registered(url), {})).toMatchObject({ status: 307 });
  expect(calls).toBe(0);
});

test('without an answer the failure says why', async () => {
  const silent = `http://127.0.0.1:${await listening(() => {})}`;
  const endless = `http://127.0.0.1:${await listening((_request, response) => {
    const more = () => response.write('x'.repeat(65_536), more);
    more();
  })}`;
  const closed = await listening((_request, response) => void response.socket?.destroy());
  const none = { status: undefined, body: undefined };
  expect(await runTool(registered(silent), {}, { timeoutMs: 20 })).toMatchObject({
    ...none,
    failure: 'timeout',
  });
  expect(await runTool(registered(silent), {}, { signal: AbortSignal.abort() })).toMatchObject({
    ...none,
    failure: 'aborted',
  });
  expect(await runTool(registered(endless), {})).toMatchObject({ ...none, failure: 'too_large' });
  expect(await runTool(registered(`http://127.0.0.1:${closed}`), {})).toMatchObject({
    ...none,
    failure: 'UND_ERR_SOCKET',
  });
  const broken = { additional_tool_info: { api: { endpoint: 'nowhere', method: 'POST' } } };
  expect(await runTool(broken, {})).toMatchObject({ ...none, failure: expect.any(String) });
});
