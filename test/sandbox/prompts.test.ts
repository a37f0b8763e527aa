import { expect, test } from 'vitest';
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
