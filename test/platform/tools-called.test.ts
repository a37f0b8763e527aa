import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createPlatform, defineTool, toolMiddleware } from '../../src/platform/index.ts';
import { type SandboxOptions, createSandbox } from '../../src/sandbox/index.ts';
import { manualClock } from '../../src/testing/index.ts';
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

const agent = 'agent_demonstration';
/** The run of a call without an answer. */
const none = { status: undefined, body: undefined };
const fixedParams = { branch: { description: 'Which shop', value: 'north' } };

/** How the tool is registered with this endpoint. */
function registered(endpoint: string, method: (typeof methods)[number] = 'POST') {
  return order.registration({ endpoint, method, headers, fixedParams });
}

async function started(options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { customTools } = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
  return { sandbox, customTools };
}

/** Registers a tool, and calls it as the platform does when a model asks for it. */
async function called(tool: ReturnType<typeof registered>, args: Readonly<Record<string, unknown>> = {}) {
  const { sandbox, customTools } = await started();
  await customTools.create(agent, tool);
  return sandbox.callTool(agent, tool.tool_id, args);
}

test.each(methods)('what is registered with %s is called, and answers', async (method) => {
  const url = `http://127.0.0.1:${await listening(toolMiddleware([order], { headers }))}/tools/order?shop=7`;
  const run = await called(registered(url, method), {
    article: 'lamp',
    count: 2,
    extras: ['bulb', 'plug'],
    gift: { to: 'Ada' },
    note: undefined,
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
  const { sandbox, customTools } = await started();
  const endpoint = `http://127.0.0.1:${await listening(toolMiddleware([order], { headers }))}/tools/order`;
  const created = await customTools.create(agent, registered(endpoint));
  expect(created).toMatchObject({ ...registered(endpoint), created_at: expect.any(String) });
  expect(await sandbox.callTool(agent, 'order', { article: 'lamp', count: '2' })).toMatchObject({
    status: 200,
    body: { args: { article: 'lamp', count: 2, extras: [] }, additional: { branch: 'north' } },
  });
  expect(await sandbox.callTool(agent, 'order', {})).toMatchObject({
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
  const tool = order.registration({
    endpoint: url,
    headers: { 'Content-Type': 'application/vnd.tool+json' },
    fixedParams,
  });
  expect(await called(tool, { branch: 'south', article: 'lamp' })).toMatchObject({
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
  expect(await called(registered(url))).toMatchObject({ status: 307 });
  expect(calls).toBe(0);
});

test('without an answer the failure says why', async () => {
  const endless = `http://127.0.0.1:${await listening((_request, response) => {
    const more = () => response.write('x'.repeat(65_536), more);
    more();
  })}`;
  const closed = await listening((_request, response) => void response.socket?.destroy());
  expect(await called(registered(endless))).toMatchObject({ ...none, failure: 'too_large' });
  expect(await called(registered(`http://127.0.0.1:${closed}`))).toMatchObject({
    ...none,
    failure: 'UND_ERR_SOCKET',
  });
});

test('an endpoint that does not answer fails after ten seconds, or when the sandbox stops', async () => {
  let calls = 0;
  const silent = `http://127.0.0.1:${await listening(() => void (calls += 1))}`;
  const clock = manualClock();
  const { sandbox, customTools } = await started({ clock });
  await customTools.create(agent, registered(silent));
  const late = sandbox.callTool(agent, 'order');
  await expect.poll(() => calls).toBe(1);
  clock.advance(10_000);
  expect(await late).toMatchObject({ ...none, failure: 'timeout', latencyMs: 10_000 });
  const aborted = sandbox.callTool(agent, 'order');
  await expect.poll(() => calls).toBe(2);
  await sandbox.stop();
  expect(await aborted).toMatchObject({ ...none, failure: 'aborted' });
  await expect(sandbox.callTool(agent, 'order')).rejects.toMatchObject({ code: 'sandbox_not_running' });
});
