import { describe, expect, it, test } from 'vitest';
import type { NewCustomTool } from '../../src/platform/index.ts';
import { findOrder } from './find-order.ts';
import { clientOf, platformError, sandboxAndPlatform, standIn } from './support.ts';

const registration = findOrder.registration({
  endpoint: 'https://calls.example.com/tools/find_order',
  headers: { 'x-tool-key': 'hunter22' },
  fixedParams: { shop: { description: 'Which shop', value: 'bicycles' } },
});

describe('customTools', () => {
  it('are created from a definition', async () => {
    const { platform } = await sandboxAndPlatform();
    const tool = await platform.customTools.create('agent_1', registration);
    expect(tool).toMatchObject({
      ...registration,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await platform.customTools.get('agent_1', tool.tool_id)).toEqual(tool);
  });

  it('are sent to the path of the document, with the slash at its end', async () => {
    const { url, received } = await standIn({ status: 201, json: registration });
    await clientOf(url).platform.customTools.create('agent_1', registration);
    expect(received).toMatchObject([{ method: 'POST', url: '/v2/ai-agents/agent_1/custom-tools/' }]);
    expect(JSON.parse(received[0]?.body ?? '')).toEqual(registration);
  });

  it('may have null for what is unset', async () => {
    const unset = { openai_tool: null, additional_tool_info: null, created_at: null, updated_at: null };
    const { url } = await standIn({ status: 201, json: { ...unset, tool_id: 'find_order' } });
    const { customTools } = clientOf(url).platform;
    expect(await customTools.create('agent_1', registration)).toEqual({ tool_id: 'find_order' });
  });

  it('need nothing that the document leaves open', async () => {
    const { platform } = await sandboxAndPlatform();
    const least: NewCustomTool = {
      openai_tool: { name: 'now', description: 'The time', parameters: { type: 'object', properties: {} } },
      additional_tool_info: {
        tool_type: 'custom',
        api: { endpoint: 'https://calls.example.com/tools/now', method: 'GET' },
      },
      tool_id: 'now',
    };
    const created = await platform.customTools.create('agent_1', least);
    const { created_at: _createdAt, updated_at: _updatedAt, ...stored } = created;
    expect(stored).toEqual(least);
    expect(await platform.customTools.ensure('agent_1', least)).toMatchObject({ outcome: 'unchanged' });
    const more = structuredClone(least) as { additional_tool_info: { api: object } };
    Object.assign(more.additional_tool_info.api, { parameters: { runtime_params: {} } });
    expect(await platform.customTools.update('agent_1', 'now', more as NewCustomTool)).toMatchObject(more);
  });

  it('are listed over all pages', async () => {
    const { platform } = await sandboxAndPlatform();
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) await platform.customTools.create('agent_1', { ...registration, tool_id: id });
    const listed: string[] = [];
    for await (const tool of platform.customTools.list('agent_1', { pageSize: 2 })) listed.push(tool.tool_id);
    expect(listed.sort()).toEqual(ids);
  });

  it('are replaced and deleted', async () => {
    const { platform } = await sandboxAndPlatform();
    const { tool_id: id } = await platform.customTools.create('agent_1', registration);
    const { tool_start_message: _, ...quiet } = registration;
    const updated = await platform.customTools.update('agent_1', id, quiet);
    expect(updated).not.toHaveProperty('tool_start_message');
    await platform.customTools.delete('agent_1', id);
    expect(await platformError(platform.customTools.get('agent_1', id))).toMatchObject({ status: 404 });
  });

  it("can't be deleted if they do not exist, which is an error", async () => {
    const { platform } = await sandboxAndPlatform();
    expect(await platformError(platform.customTools.delete('agent_1', 'gone'))).toMatchObject({
      status: 404,
    });
  });

  it("reveal nothing about another organization's agent", async () => {
    const { platform } = await sandboxAndPlatform();
    const creating = platform.customTools.create('agent_of_others', registration);
    expect(await platformError(creating)).toMatchObject({ status: 404, operation: 'customTools.create' });
  });

  it('whose id is taken are refused with an HTTPValidationError', async () => {
    const { platform } = await sandboxAndPlatform();
    await platform.customTools.create('agent_1', registration);
    expect(await platformError(platform.customTools.create('agent_1', registration))).toMatchObject({
      status: 422,
      code: 'HTTPValidationError',
      message: expect.stringContaining('body.tool_id'),
    });
  });

  it('that the platform refuses keep their credentials out of the error', async () => {
    const detail = [{ loc: ['body', 'headers'], msg: 'hunter22 and bicycles are wrong', type: 'x' }];
    const { url } = await standIn({ status: 422, json: { detail } });
    const error = await platformError(clientOf(url).platform.customTools.create('agent_1', registration));
    expect(error.message).toContain('[hidden] and [hidden] are wrong');
    expect(JSON.stringify(error.details)).not.toMatch(/hunter22|bicycles/);
  });
});

describe('a tool is checked before it is sent', () => {
  const { openai_tool: openai, additional_tool_info: info } = registration;
  const api = info.api;
  const withFixed = (shop: unknown) => ({
    additional_tool_info: {
      ...info,
      api: { ...api, parameters: { fixed_params: { shop }, runtime_params: {} } },
    },
  });
  test.each<[string, object, RegExp]>([
    ['a field that there is not', { messages: {} }, /There is no option messages/],
    ['no function', { openai_tool: undefined }, /openai_tool/],
    ['a function without a name', { openai_tool: { ...openai, name: '' } }, /openai_tool\.name/],
    [
      'another type of tool',
      { additional_tool_info: { ...info, tool_type: 'other' } },
      /tool_type .*'custom'/,
    ],
    [
      'an endpoint that is none',
      { additional_tool_info: { ...info, api: { ...api, endpoint: 'x' } } },
      /endpoint/,
    ],
    [
      'an unknown field of a fixed parameter',
      withFixed({ description: 'Which shop', value: 'bicycles', secret: 'hunter22' }),
      /no option secret in customTools\.create\..*fixed_params\.shop\. The options are: description, value/,
    ],
    [
      'a fixed parameter that is a text',
      withFixed('hunter22'),
      /fixed_params\.shop .*an object with description, value/,
    ],
    [
      'a header that is no text',
      { additional_tool_info: { ...info, api: { ...api, headers: { key: ['hunter22'] } } } },
      /headers .*header names and texts/,
    ],
  ])('%s', async (_, wrong, message) => {
    const { url, received } = await standIn({ json: registration });
    const tool = { ...registration, ...wrong } as unknown as NewCustomTool;
    const error: unknown = await clientOf(url)
      .platform.customTools.create('agent_1', tool)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'ConfigError', message: expect.stringMatching(message) });
    expect(String(error)).not.toContain('hunter22');
    expect(received).toEqual([]);
  });
});
