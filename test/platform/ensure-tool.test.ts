import { describe, expect, it, test } from 'vitest';
import { type NewCustomTool, type Platform, createPlatform } from '../../src/platform/index.ts';
import { findOrder } from './find-order.ts';
import { type Scripted, apiKey, clientOf, platformError, sandboxAndPlatform, standIn } from './support.ts';

const endpoint = 'https://calls.example.com/tools/find_order';
const headers = { 'x-tool-key': 'hunter22' };
const wanted: NewCustomTool = findOrder.registration({ endpoint, headers });
const { openai_tool: openai, additional_tool_info: info } = wanted;
const withApi = (api: object) =>
  ({ ...wanted, additional_tool_info: { ...info, api: { ...info.api, ...api } } }) as NewCustomTool;

async function toolsOf(platform: Platform): Promise<string[]> {
  const ids: string[] = [];
  for await (const { tool_id: id } of platform.customTools.list('agent_1')) ids.push(id);
  return ids;
}

describe('customTools.ensure', () => {
  it('creates, then does nothing', async () => {
    const { platform } = await sandboxAndPlatform();
    const first = await platform.customTools.ensure('agent_1', wanted);
    expect(first).toMatchObject({ outcome: 'created', tool: { ...wanted, tool_id: 'find_order' } });
    expect(await platform.customTools.ensure('agent_1', wanted)).toEqual({
      outcome: 'unchanged',
      tool: first.tool,
    });
    expect(await toolsOf(platform)).toEqual(['find_order']);
  });

  test.each<[string, NewCustomTool]>([
    ['the description', { ...wanted, openai_tool: { ...openai, description: 'Finds an order.' } }],
    [
      'the parameters',
      {
        ...wanted,
        openai_tool: { ...openai, parameters: { ...openai.parameters, properties: {}, required: [] } },
      },
    ],
    ['the endpoint', withApi({ endpoint: 'https://other.example.com' })],
    ['the headers', withApi({ headers: { authorization: 'Bearer other' } })],
    [
      'the fixed parameters',
      withApi({
        parameters: { fixed_params: { shop: { description: 'Which', value: 'b' } }, runtime_params: {} },
      }),
    ],
    ['a message', { ...wanted, tool_failed_message: 'Sorry.' }],
  ])('changes what differs: %s', async (_, changed) => {
    const { platform } = await sandboxAndPlatform();
    await platform.customTools.create('agent_1', wanted);
    const ensured = await platform.customTools.ensure('agent_1', changed);
    const { created_at: _created, updated_at: _updated, ...stored } = ensured.tool;
    expect(ensured.outcome).toBe('updated');
    expect(stored).toEqual(changed);
    expect(await platform.customTools.get('agent_1', 'find_order')).toEqual(ensured.tool);
    expect(await platform.customTools.ensure('agent_1', changed)).toMatchObject({ outcome: 'unchanged' });
  });

  it('finds a tool without an id by the name of its function', async () => {
    const { platform } = await sandboxAndPlatform();
    const { tool_id: _, ...nameless } = wanted;
    const first = await platform.customTools.ensure('agent_1', nameless);
    expect(first.outcome).toBe('created');
    const changed = { ...nameless, tool_start_message: 'Just a second.' };
    expect(await platform.customTools.ensure('agent_1', changed)).toMatchObject({
      outcome: 'updated',
      tool: { tool_id: first.tool.tool_id, tool_start_message: 'Just a second.' },
    });
    expect(await toolsOf(platform)).toEqual([first.tool.tool_id]);
  });

  it('finds the tool on whatever page it is', async () => {
    const { platform } = await sandboxAndPlatform();
    for (let index = 0; index < 101; index += 1) {
      await platform.customTools.create('agent_1', { ...wanted, tool_id: `other_${index}` });
    }
    await platform.customTools.create('agent_1', wanted);
    expect(await platform.customTools.ensure('agent_1', wanted)).toMatchObject({ outcome: 'unchanged' });
  });

  it.each([
    ['left out', {}],
    ['undefined', { tool_start_message: undefined }],
  ])('leaves a message as it is when it is %s', async (_, message) => {
    const { platform } = await sandboxAndPlatform();
    await platform.customTools.create('agent_1', wanted);
    const { tool_start_message: _start, ...others } = wanted;
    const quiet = { ...others, ...message } as unknown as NewCustomTool;
    expect(await platform.customTools.ensure('agent_1', quiet)).toMatchObject({ outcome: 'unchanged' });
    const louder = { ...quiet, tool_complete_message: 'There it is.' };
    expect(await platform.customTools.ensure('agent_1', louder)).toMatchObject({
      outcome: 'updated',
      tool: { tool_start_message: 'One moment.' },
    });
  });

  it('sends back what it does not know, which a PUT would clear, but no times', async () => {
    const stored = {
      ...wanted,
      labels: ['sales'],
      voice_id: 'voice_1',
      created_at: '2026-01-01T00:00:00Z',
      additional_tool_info: { ...info, region: 'eu', api: { ...info.api, retries: 2 } },
    };
    const { url, received } = await standIn({ json: { tools: [stored] } }, { json: stored });
    const { platform } = clientOf(url);
    const moved = withApi({ endpoint: 'https://other.example.com' });
    await platform.customTools.ensure('agent_1', moved);
    const {
      labels,
      voice_id: voice,
      additional_tool_info: sentInfo,
      ...sent
    } = JSON.parse(received[2]?.body ?? '') as typeof stored;
    expect(received[2]).toMatchObject({
      method: 'PUT',
      url: '/v2/ai-agents/agent_1/custom-tools/find_order',
    });
    expect(labels).toEqual(['sales']);
    expect(voice).toBe('voice_1');
    expect(sentInfo).toMatchObject({
      region: 'eu',
      api: { retries: 2, endpoint: 'https://other.example.com' },
    });
    expect(sent).not.toHaveProperty('created_at');
  });

  it('ends with one tool when it is called twice at once', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    const other = createPlatform({ baseUrl: sandbox.url, apiKey });
    const both = await Promise.all(
      [platform, other].map(({ customTools }) => customTools.ensure('agent_1', wanted)),
    );
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['created', 'unchanged']);
    expect(await toolsOf(platform)).toEqual(['find_order']);
  });

  it("passes the platform's refusal on, without credentials", async () => {
    const detail = [{ loc: ['body'], msg: 'hunter22 is wrong', type: 'x' }];
    const none: Scripted = { json: { tools: [] } };
    const { url, received } = await standIn(none, { status: 422, json: { detail } }, none);
    const error = await platformError(clientOf(url).platform.customTools.ensure('agent_1', wanted));
    expect(error).toMatchObject({ operation: 'customTools.ensure', status: 422 });
    expect(error.message).toContain('[hidden] is wrong');
    expect(received.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
  });

  const { headers: _headers, parameters: _parameters, ...bareApi } = info.api;
  const bare: NewCustomTool = { ...wanted, additional_tool_info: { ...info, api: bareApi } };
  const storedWith = (value: string): object =>
    withApi({
      endpoint: 'https://before.example.com',
      headers: { 'x-tool-key': value },
      parameters: { fixed_params: { pin: { description: 'Which', value } } },
    });

  it("passes the platform's refusal on without the credentials that it sent back", async () => {
    const stored = { json: storedWith('hunter33') };
    const refusal = { error: 'bad', message: 'hunter33 is wrong', details: { key: 'hunter33' } };
    const { url } = await standIn({ json: { tools: [stored.json] } }, stored, { status: 400, json: refusal });
    const error = await platformError(clientOf(url).platform.customTools.ensure('agent_1', bare));
    expect(error.message).toContain('[hidden] is wrong');
    expect(error.details).toEqual({ key: '[hidden]' });
  });

  it('does not send masked credentials back, which would replace the real ones', async () => {
    const stored = storedWith('ab***yz');
    const list = { json: { tools: [stored] } };
    const { url, received } = await standIn(list, { json: stored }, list, { json: stored });
    const { customTools } = clientOf(url).platform;
    await expect(customTools.ensure('agent_1', bare)).rejects.toMatchObject({
      code: 'update_unsafe',
      message: expect.stringContaining('masked'),
    });
    expect(received.map(({ method }) => method)).toEqual(['GET', 'GET']);
    const given = withApi({ parameters: { fixed_params: {} } });
    expect(await customTools.ensure('agent_1', given)).toMatchObject({ outcome: 'updated' });
  });

  it('checks the tool before it asks anything', async () => {
    const { url, received } = await standIn({ json: { tools: [] } });
    const wrong = { ...wanted, messages: {} } as NewCustomTool;
    await expect(clientOf(url).platform.customTools.ensure('agent_1', wrong)).rejects.toThrow(
      'There is no option messages in customTools.ensure',
    );
    expect(received).toEqual([]);
  });
});
