import { expect, test, vi } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { ask, keys, startedSandbox } from './tenants.ts';

const path = '/v1/prompt-generation/prompt/generate';
const body = { raw_prompt: ' Book tables.\n', instructions: 'Be brief.' };

test('a prompt is the raw prompt and the instructions, under headings', async () => {
  const { status, json } = await ask(await startedSandbox(), `POST ${path}`, { body });
  expect(status).toBe(200);
  expect(json).toStrictEqual({
    user_id: 'user_ada',
    prompt_id: expect.stringMatching(/^prompt_[\da-f]{32}$/),
    prompt: '# Task\n\nBook tables.\n\n# Instructions\n\nBe brief.\n',
  });
});

test('instructions may be left out', async () => {
  const sandbox = await startedSandbox();
  const without = await ask(sandbox, `POST ${path}`, { body: { raw_prompt: 'Book tables.' } });
  expect(without.json.prompt).toBe('# Task\n\nBook tables.\n');
  const empty = await ask(sandbox, `POST ${path}`, {
    body: { raw_prompt: 'Book tables.', instructions: '' },
  });
  expect(empty.text).toBe(without.text);
});

test('the same request of the same user gives the same prompt, another request another id', async () => {
  const sandbox = await startedSandbox();
  const [first, second, other, byBen] = await Promise.all([
    ask(sandbox, `POST ${path}`, { body }),
    ask(sandbox, `POST ${path}`, { body }),
    ask(sandbox, `POST ${path}`, { body: { ...body, instructions: 'Be long.' } }),
    ask(sandbox, `POST ${path}`, { body, key: keys.ben }),
  ]);
  expect(second.text).toBe(first.text);
  expect(new Set([first, other, byBen].map(({ json }) => json.prompt_id)).size).toBe(3);
  expect(byBen.json.user_id).toBe('user_ben');
});

test.each([
  ['no raw prompt', {}, 'raw_prompt', 'missing'],
  ['a blank raw prompt', { raw_prompt: ' \n' }, 'raw_prompt', 'invalid_format'],
  ['a raw prompt that is no text', { raw_prompt: 1 }, 'raw_prompt', 'invalid_type'],
  ['instructions that are no text', { raw_prompt: 'a', instructions: null }, 'instructions', 'invalid_type'],
])('%s is not valid', async (_, invalid, field, type) => {
  const { status, json } = await ask(await startedSandbox(), `POST ${path}`, { body: invalid });
  expect(status).toBe(422);
  expect(json).toStrictEqual({ detail: [{ loc: ['body', field], msg: expect.stringMatching(/./), type }] });
});

test('without a token there is no prompt', async () => {
  const { status } = await ask(await startedSandbox(), `POST ${path}`, { body, key: 'key_of_nobody' });
  expect(status).toBe(401);
});

test('a generator gets the request, and its prompt is the answer', async () => {
  const requests: unknown[] = [];
  const sandbox = await startedSandbox({
    generatePrompt: async ({ signal, ...request }) => {
      requests.push(request, signal.aborted);
      return `You are an agent. ${request.rawPrompt.trim()}`;
    },
  });
  const { status, json } = await ask(sandbox, `POST ${path}`, { body });
  const expected = { rawPrompt: ' Book tables.\n', instructions: 'Be brief.', userId: 'user_ada' };
  expect(requests).toEqual([expected, false]);
  expect(status).toBe(200);
  expect(json).toStrictEqual({
    user_id: 'user_ada',
    prompt_id: expect.stringMatching(/^prompt_[\da-f]{32}$/),
    prompt: 'You are an agent. Book tables.',
  });
});

test('what is not valid does not reach a generator', async () => {
  const generatePrompt = vi.fn(() => 'a prompt');
  const sandbox = await startedSandbox({ generatePrompt });
  expect((await ask(sandbox, `POST ${path}`, { body: {} })).status).toBe(422);
  expect(generatePrompt).not.toHaveBeenCalled();
});

test.each<[string, () => string | Promise<string>]>([
  [
    'throws',
    () => {
      throw new Error('the model is in trouble');
    },
  ],
  ['rejects', () => Promise.reject(new Error('the model is in trouble'))],
  ['returns no text', () => undefined as unknown as string],
])(
  'a generator that %s is a failure of the service, which says nothing of its cause',
  async (_, generatePrompt) => {
    const { status, json } = await ask(await startedSandbox({ generatePrompt }), `POST ${path}`, { body });
    expect(status).toBe(503);
    expect(json).toStrictEqual({ error: 'unavailable', message: 'The service is not available' });
  },
);

test('a generator is a function', () => {
  const options = { generatePrompt: 'a prompt' as unknown as () => string };
  expect(() => createSandbox(options)).toThrow(expect.objectContaining({ code: 'option_invalid' }));
});
