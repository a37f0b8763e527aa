/** The requests of the operations that the platform's document shows, as they go over the wire. */
import { expect, test } from 'vitest';
import type { NewCustomTool, Platform } from '../../src/platform/index.ts';
import { answered, apiKey, clientOf, kb, standIn } from './support.ts';

const tool: NewCustomTool = {
  openai_tool: {
    name: 'now',
    description: 'The time',
    parameters: {
      type: 'object',
      properties: { zone: { type: 'string', description: 'Where' } },
      required: ['zone'],
      additionalProperties: false,
    },
  },
  additional_tool_info: {
    tool_type: 'custom',
    api: { endpoint: 'https://calls.example.com/tools/now', method: 'GET', headers: { 'x-key': 'abc' } },
  },
  tool_id: 'now',
  tool_start_message: 'One moment',
  tool_delayed_message: 'Still at it',
  tool_complete_message: 'Done',
  tool_failed_message: 'Sorry',
};
const prompt = { raw_prompt: 'You sell bicycles.', instructions: 'Be brief.' };
const whole = {
  name: 'calls',
  description: 'All of it',
  url: 'https://calls.example.com/webhooks',
  active: true,
  enable_signed_webhooks: true,
  events: ['CallHandler.CallEnded'],
  headers: { 'x-key': 'abc' },
  agent_ids: ['agent_1'],
};

test.each<[string, (platform: Platform) => Promise<unknown>, string, unknown, object]>([
  [
    'knowledgeBases.get',
    ({ knowledgeBases }) => knowledgeBases.get('kb_1'),
    'GET /api/v1/knowledge-bases/kb_1',
    undefined,
    kb,
  ],
  [
    'websites.sitemaps',
    ({ websites }) => websites.sitemaps('https://www.example.com'),
    'GET /api/v1/knowledge-bases/documents/website/sitemaps?url=https%3A%2F%2Fwww.example.com',
    undefined,
    { success: true, links: [] },
  ],
  [
    'customTools.create',
    ({ customTools }) => customTools.create('agent_1', tool),
    'POST /v2/ai-agents/agent_1/custom-tools/',
    tool,
    tool,
  ],
  [
    'prompts.generate',
    ({ prompts }) => prompts.generate(prompt),
    'POST /v1/prompt-generation/prompt/generate',
    prompt,
    { user_id: 'user_1', prompt_id: 'prompt_1', prompt: 'x' },
  ],
  [
    'subscriptions.replace',
    ({ subscriptions }) => subscriptions.replace('sub_1', whole),
    'PUT /v1/public/webhook/subscription/sub_1',
    whole,
    answered,
  ],
  [
    'subscriptions.get',
    ({ subscriptions }) => subscriptions.get('sub_1'),
    'GET /v1/public/webhook/subscription/sub_1',
    undefined,
    answered,
  ],
])('%s sends its body, the key, and nothing else about the caller', async (_, call, line, body, json) => {
  const { url, received } = await standIn({ json });
  await call(clientOf(url).platform);
  expect(received).toHaveLength(1);
  const [request = { method: '', url: '', headers: {}, body: '', bytes: new Uint8Array() }] = received;
  expect(`${request.method} ${request.url}`).toBe(line);
  expect(request.body === '' ? undefined : JSON.parse(request.body)).toEqual(body);
  expect(request.headers.authorization).toBe(`Bearer ${apiKey}`);
  // All others are those of HTTP: the platform's gateway adds the tenant's headers, never a client.
  const ofHttp = /^(accept|accept-encoding|accept-language|connection|content-|host$|sec-fetch-|user-agent)/;
  const others = Object.keys(request.headers).filter((name) => !ofHttp.test(name));
  expect(others).toEqual(['authorization']);
});

test.each([200, 201, 202])(
  'answered with %i is done: the document does not show the status of success',
  async (status) => {
    const json = { ...tool, user_id: 'user_1', prompt_id: 'prompt_1', prompt: 'x' };
    const { url } = await standIn({ status, json });
    const { platform } = clientOf(url);
    expect(await platform.customTools.create('agent_1', tool)).toMatchObject(tool);
    expect(await platform.prompts.generate(prompt)).toMatchObject({ prompt: 'x' });
  },
);
