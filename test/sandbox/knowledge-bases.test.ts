import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { ask, keys, startedSandbox } from './tenants.ts';

const path = (id: string) => `/api/v1/knowledge-bases/${id}`;

test('a knowledge base has every field, with the defaults of the document', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
  const { status, json } = await ask(await startedSandbox({ clock }), `GET ${path('kb_plain')}`);
  expect(status).toBe(200);
  expect(json).toStrictEqual({
    id: 'kb_plain',
    name: 'Handbook',
    description: null,
    document_language: 'en',
    document_count: 0,
    chunking_strategy: 'recursive',
    vector_backend: 'vector_db_1',
    embedding_model: 'text-embedding-3-small',
    chunk_size: 512,
    chunk_overlap: 50,
    assistant_persona: null,
    status: null,
    workspace_id: null,
    organization_id: 'org_1',
    user_id: 'user_ada',
    created_at: '2026-01-02T03:04:05.006Z',
    updated_at: '2026-01-02T03:04:05.006Z',
  });
});

test('a knowledge base is answered as the seed has it', async () => {
  const { json } = await ask(await startedSandbox(), `GET ${path('kb_whole')}`);
  expect(json).toStrictEqual({
    id: 'kb_whole',
    name: 'Recipes',
    description: 'What is cooked here',
    document_language: 'de',
    document_count: 0,
    chunking_strategy: 'semantic',
    vector_backend: 'vector_db_3',
    embedding_model: 'text-embedding-3-large',
    chunk_size: 1_024,
    chunk_overlap: 0,
    assistant_persona: 'I am the cook',
    status: null,
    workspace_id: 'workspace_1',
    organization_id: 'org_1',
    user_id: 'user_ada',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-02-03T04:05:06.789Z',
  });
});

test('a knowledge base without a user is for every user of its organization', async () => {
  const sandbox = await startedSandbox();
  const statusFor = async (key: string) => (await ask(sandbox, `GET ${path('kb_shared')}`, { key })).status;
  expect(await statusFor(keys.ada)).toBe(200);
  expect(await statusFor(keys.ben)).toBe(200);
  expect(await statusFor(keys.cleo)).toBe(404);
});

test('missing, malformed and not owned are answered alike, byte for byte', async () => {
  const sandbox = await startedSandbox();
  const reference = await ask(sandbox, `GET ${path('kb_missing')}`);
  expect(reference.status).toBe(404);
  expect(reference.json).toStrictEqual({
    error: expect.stringMatching(/./),
    message: 'Knowledge base not found',
  });
  const others = [
    [keys.ada, 'kb_other'],
    [keys.ben, 'kb_plain'],
    [keys.cleo, 'kb_plain'],
    [keys.ada, '%00'],
    [keys.ada, '%F0%9F%93%9A'],
    [keys.ada, "kb_plain'%20or%20'1'='1"],
    [keys.ada, 'kb_plain%2F'],
    [keys.ada, 'KB_PLAIN'],
    [keys.ada, 'documents'],
    [keys.ada, '.'.repeat(256)],
  ] as const;
  for (const [key, id] of others) {
    const answer = await ask(sandbox, `GET ${path(id)}`, { key });
    expect([id, answer.status, answer.text]).toEqual([id, 404, reference.text]);
    expect(headersOf(answer.headers)).toEqual(headersOf(reference.headers));
  }
});

/** The headers that could reveal something: all but the date. */
function headersOf(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'date'));
}

test.each([
  ['no token', {}],
  ['a token that nobody has', { authorization: 'Bearer key_of_nobody' }],
  ['another scheme', { authorization: `Basic ${keys.ada}` }],
])('%s is answered 401', async (_, headers: Record<string, string>) => {
  const sandbox = await startedSandbox();
  const response = await fetch(`${sandbox.url}${path('kb_plain')}`, { headers });
  expect(response.status).toBe(401);
  expect(await response.json()).toStrictEqual({
    error: expect.stringMatching(/./),
    message: expect.stringMatching(/./),
  });
});

test('what is longer than any id is not valid', async () => {
  const { status, json } = await ask(await startedSandbox(), `GET ${path('k'.repeat(257))}`);
  expect(status).toBe(422);
  expect(json).toStrictEqual({
    detail: [{ loc: ['path', 'kb_id'], msg: 'Should have at most 256 characters', type: 'too_big' }],
  });
});

test('a database failure on demand is answered 503, as often as demanded', async () => {
  const sandbox = await startedSandbox();
  sandbox.fail('knowledge-bases.get', 2);
  const answers = [];
  for (let count = 0; count < 3; count += 1) answers.push(await ask(sandbox, `GET ${path('kb_plain')}`));
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 200]);
  expect(answers[0]?.json).toStrictEqual({
    error: expect.stringMatching(/./),
    message: expect.stringMatching(/./),
  });
});

test('knowledge bases survive a restart', async () => {
  const database = temporaryDatabase();
  const first = await startedSandbox({ database });
  const before = await ask(first, `GET ${path('kb_plain')}`);
  await first.stop();
  const after = await ask(await startedSandbox({ database }), `GET ${path('kb_plain')}`);
  expect([after.status, after.text]).toEqual([200, before.text]);
});
