import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { ask, keys, startedSandbox } from './tenants.ts';

const path = '/v2/ai-agents/agent_1/custom-tools';
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Every field of the document. */
const tool = {
  openai_tool: {
    name: 'find_table',
    description: 'Finds a free table',
    parameters: {
      type: 'object',
      properties: {
        guests: { type: 'integer', description: 'How many come', minimum: 1 },
        area: { type: 'string', description: 'Where', enum: ['inside', 'garden'] },
      },
      required: ['guests'],
      additionalProperties: false,
    },
  },
  additional_tool_info: {
    tool_type: 'custom',
    api: {
      endpoint: 'https://tools.example.com/find_table',
      method: 'POST',
      headers: { 'x-tool-key': 'open sesame' },
      parameters: {
        fixed_params: { house: { description: 'Which house', value: 'harbour' } },
        runtime_params: { guests: {} },
      },
    },
  },
  tool_id: 'tool_find_table',
  tool_start_message: 'One moment',
  tool_delayed_message: 'Still looking',
  tool_complete_message: 'Found it',
  tool_failed_message: 'That did not work',
};

/** The tool with another value at a place; undefined removes the field. */
function toolWith(place: readonly string[], value: unknown): unknown {
  const copy: Record<string, unknown> = structuredClone(tool);
  const last = place.at(-1) ?? '';
  const parent = place.slice(0, -1).reduce((inner, step) => inner[step] as Record<string, unknown>, copy);
  parent[last] = value;
  return copy;
}

test('a clock of fractions of a millisecond stores a tool and its changes', async () => {
  // As one made of performance.timeOrigin and performance.now() is.
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 1 / 3);
  const sandbox = await startedSandbox({ clock });
  const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' };
  expect(await ask(sandbox, `POST ${path}`, { body: tool })).toMatchObject({ status: 201, json: times });
  const changed = await ask(sandbox, `PUT ${path}/${tool.tool_id}`, { body: tool });
  expect(changed).toMatchObject({ status: 200, json: times });
});

test.each([path, `${path}/`])('POST %s creates a tool, and answers it as stored', async (at) => {
  const sandbox = await startedSandbox({ clock: new ManualClock(Date.UTC(2026, 0, 1)) });
  const { status, json } = await ask(sandbox, `POST ${at}`, { body: tool });
  const stored = {
    ...tool,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  };
  expect(status).toBe(201);
  expect(json).toStrictEqual(stored);
  expect((await ask(sandbox, `GET ${path}/tool_find_table`)).json).toStrictEqual(stored);
});

test('a tool needs no more than what it can be run with, and gets an id', async () => {
  const body = {
    openai_tool: { name: 'now', description: '', parameters: { type: 'object', properties: {} } },
    additional_tool_info: { tool_type: 'custom', api: { endpoint: 'http://127.0.0.1:1/', method: 'GET' } },
  };
  const { status, json } = await ask(await startedSandbox(), `POST ${path}`, { body });
  expect(status).toBe(201);
  expect(json).toStrictEqual({
    ...body,
    tool_id: expect.stringMatching(/^tool_[\da-f-]{36}$/),
    created_at: expect.stringMatching(isoTime),
    updated_at: expect.stringMatching(isoTime),
  });
});

test('times are the platform’s to set, and fields that it does not know are kept', async () => {
  const body = { ...tool, created_at: 'long ago', colour: 'red' };
  const { json } = await ask(await startedSandbox(), `POST ${path}`, { body });
  expect(json.created_at).toMatch(isoTime);
  expect(json.colour).toBe('red');
});

test('an agent has one tool of an id', async () => {
  const sandbox = await startedSandbox();
  const copies = await Promise.all([1, 2, 3].map(() => ask(sandbox, `POST ${path}`, { body: tool })));
  expect(copies.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([201, 422, 422]);
  expect(copies.find(({ status }) => status === 422)?.json).toStrictEqual({
    detail: [{ loc: ['body', 'tool_id'], msg: expect.stringContaining('unique'), type: 'unique' }],
  });
  // Another agent may have a tool with the same id.
  const other = await ask(sandbox, 'POST /v2/ai-agents/agent_3/custom-tools/', { body: tool });
  expect(other.status).toBe(201);
});

describe('a tool is not valid with', () => {
  const parameters = ['openai_tool', 'parameters'];
  const api = ['additional_tool_info', 'api'];
  const house = [...api, 'parameters', 'fixed_params', 'house'];
  test.each<[string, readonly string[], unknown]>([
    ['no function', ['openai_tool'], undefined],
    ['a blank name', ['openai_tool', 'name'], ' '],
    ['no description', ['openai_tool', 'description'], undefined],
    ['no parameters', parameters, undefined],
    ['parameters that are no object', [...parameters, 'type'], 'array'],
    ['a list of properties', [...parameters, 'properties'], []],
    ['a property without a type', [...parameters, 'properties', 'area', 'type'], undefined],
    ['a property without a description', [...parameters, 'properties', 'area', 'description'], undefined],
    ['a required parameter that there is not', [...parameters, 'required'], ['toString']],
    ['additionalProperties as a text', [...parameters, 'additionalProperties'], 'no'],
    ['another type of tool', ['additional_tool_info', 'tool_type'], 'builtin'],
    ['no call', api, undefined],
    ['an endpoint that is no web address', [...api, 'endpoint'], 'ftp://tools.example.com'],
    ['a method that there is not', [...api, 'method'], 'FETCH'],
    ['a header that is no text', [...api, 'headers', 'x-tool-key'], 1],
    ['a fixed parameter without a value', [...house, 'value'], undefined],
    ['a fixed parameter without a description', [...house, 'description'], undefined],
    ['runtime parameters that are a list', [...api, 'parameters', 'runtime_params'], []],
    ['an empty id', ['tool_id'], ''],
    ['an endless id', ['tool_id'], 'a'.repeat(257)],
    ['a message at the start that is no text', ['tool_start_message'], 1],
    ['a message on delay that is no text', ['tool_delayed_message'], null],
    ['a message at the end that is no text', ['tool_complete_message'], []],
    ['a message on failure that is no text', ['tool_failed_message'], false],
  ])('%s', async (_, place, value) => {
    const sandbox = await startedSandbox();
    const { status, json } = await ask(sandbox, `POST ${path}`, { body: toolWith(place, value) });
    expect(status).toBe(422);
    expect(json).toStrictEqual({
      detail: [
        { loc: ['body', ...place], msg: expect.stringMatching(/./), type: expect.stringMatching(/./) },
      ],
    });
    expect((await ask(sandbox, `GET ${path}`)).json.tools).toEqual([]);
  });

  test.each([undefined, null, [], 'text', 1])('%s in its place', async (body) => {
    const { status, json } = await ask(await startedSandbox(), `POST ${path}`, {
      body: JSON.stringify(body),
    });
    expect(status).toBe(422);
    expect(json.detail[0]?.loc).toEqual(['body']);
  });

  test('a mistake in everything, without an answer that is longer than the question', async () => {
    const required = Array.from({ length: 1_000 }, () => 1);
    const body = toolWith([...parameters, 'required'], required);
    const { status, json } = await ask(await startedSandbox(), `POST ${path}`, { body });
    expect(status).toBe(422);
    expect(json.detail).toHaveLength(20);
  });
});

describe('the list of tools', () => {
  async function withTools(count: number) {
    const sandbox = await startedSandbox();
    for (let number = 1; number <= count; number += 1) {
      await ask(sandbox, `POST ${path}`, { body: { ...tool, tool_id: `tool_${number}` } });
    }
    return sandbox;
  }

  test('comes in pages, in the order of creation', async () => {
    const sandbox = await withTools(5);
    const pages = [];
    for (let token: string | null = ''; token !== null;) {
      const { json } = await ask(sandbox, `GET ${path}?page_size=2${token && `&page_token=${token}`}`);
      expect(Object.keys(json)).toEqual(['tools', 'next_page_token']);
      pages.push(json.tools.map(({ tool_id: id }) => id));
      token = json.next_page_token;
    }
    expect(pages).toEqual([['tool_1', 'tool_2'], ['tool_3', 'tool_4'], ['tool_5']]);
  });

  test('ends with a page that is full', async () => {
    const { json } = await ask(await withTools(2), `GET ${path}/?page_size=2`);
    expect([json.tools.length, json.next_page_token]).toEqual([2, null]);
  });

  test('has twenty to a page unless asked for others', async () => {
    const sandbox = await withTools(21);
    expect((await ask(sandbox, `GET ${path}`)).json.tools).toHaveLength(20);
    expect((await ask(sandbox, `GET ${path}?page_size=100`)).json.tools).toHaveLength(21);
  });

  test.each([
    ['page_size=0', 'page_size'],
    ['page_size=101', 'page_size'],
    ['page_size=ten', 'page_size'],
    ['page_size=1&page_size=2', 'page_size'],
    ['page_size=1&page_token=', 'page_token'],
    ['page_size=1&page_token=2', 'page_token'],
  ])('cannot be asked for with %s', async (query, field) => {
    const { status, json } = await ask(await startedSandbox(), `GET ${path}?${query}`);
    expect(status).toBe(422);
    expect(json.detail).toHaveLength(1);
    expect(json.detail[0]?.loc).toEqual(['query', field]);
  });
});

test('PUT replaces all of a tool but its id and the time of its creation', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const sandbox = await startedSandbox({ clock });
  await ask(sandbox, `POST ${path}`, { body: tool });
  clock.advance(1_500);
  const { openai_tool, additional_tool_info } = tool;
  const { status, json } = await ask(sandbox, `PUT ${path}/tool_find_table`, {
    body: { openai_tool, additional_tool_info },
  });
  expect(status).toBe(200);
  expect(json).toStrictEqual({
    openai_tool,
    additional_tool_info,
    tool_id: 'tool_find_table',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:01.500Z',
  });
  expect((await ask(sandbox, `GET ${path}/tool_find_table`)).json).toStrictEqual(json);
});

test('PUT changes nothing when it is not valid', async () => {
  const sandbox = await startedSandbox();
  const { json: before } = await ask(sandbox, `POST ${path}`, { body: tool });
  const put = (body: unknown) => ask(sandbox, `PUT ${path}/tool_find_table`, { body });
  expect((await put({ ...tool, tool_id: 'tool_other' })).json.detail[0]?.loc).toEqual(['body', 'tool_id']);
  expect((await put({})).status).toBe(422);
  expect((await ask(sandbox, `GET ${path}/tool_find_table`)).json).toStrictEqual(before);
});

test('DELETE removes a tool', async () => {
  const sandbox = await startedSandbox();
  await ask(sandbox, `POST ${path}`, { body: tool });
  const deleted = await ask(sandbox, `DELETE ${path}/tool_find_table`);
  expect([deleted.status, deleted.text]).toEqual([204, '']);
  expect((await ask(sandbox, `DELETE ${path}/tool_find_table`)).status).toBe(404);
  expect((await ask(sandbox, `GET ${path}`)).json.tools).toEqual([]);
});

test('another organization’s agent and tools are answered as those that there never were', async () => {
  const sandbox = await startedSandbox();
  await ask(sandbox, `POST ${path}`, { body: tool });
  const requests = [
    { method: 'POST', rest: '', body: tool },
    { method: 'GET', rest: '' },
    { method: 'GET', rest: '/tool_find_table' },
    { method: 'PUT', rest: '/tool_find_table', body: tool },
    { method: 'DELETE', rest: '/tool_find_table' },
  ];
  for (const { method, rest, body } of requests) {
    const parts = { key: keys.cleo, body };
    const other = await ask(sandbox, `${method} ${path}${rest}`, parts);
    const missing = await ask(sandbox, `${method} /v2/ai-agents/nobody/custom-tools${rest}`, parts);
    expect([method, rest, other.status, other.text]).toEqual([method, rest, 404, missing.text]);
  }
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? { ...tool, tool_id: 'tool_none' } : undefined;
    expect((await ask(sandbox, `${method} ${path}/tool_none`, { body })).status).toBe(404);
  }
  expect((await ask(sandbox, `GET ${path}`)).json.tools).toHaveLength(1);
});

test('without a token there are no tools', async () => {
  const { status } = await ask(await startedSandbox(), `GET ${path}`, { key: 'key_of_nobody' });
  expect(status).toBe(401);
});

test('tools survive a restart', async () => {
  const database = temporaryDatabase();
  const first = await startedSandbox({ database });
  const { json: created } = await ask(first, `POST ${path}`, { body: tool });
  await first.stop();
  const second = await startedSandbox({ database });
  expect((await ask(second, `GET ${path}`)).json).toStrictEqual({ tools: [created], next_page_token: null });
});
