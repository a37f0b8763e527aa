import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { ask, keys, startedSandbox } from '../tenants.ts';
import { knowledgeBasePath } from './knowledge-base-client.ts';

const ada = { key: keys.ada };
const whole = {
  name: 'Menu',
  description: 'What is served',
  document_language: 'de',
  chunking_strategy: 'sentence',
  vector_backend: 'vector_db_2',
  chunk_size: 256,
  chunk_overlap: 0,
  assistant_persona: 'I am the cook',
  workspace_id: 'workspace_1',
};

describe('a knowledge base that is created', () => {
  test('has the defaults of the document, and the larger embedding model', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
    const sandbox = await startedSandbox({ clock });
    const { status, json } = await ask(sandbox, `POST ${knowledgeBasePath}`, {
      ...ada,
      body: { name: 'Menu' },
    });
    expect(status).toBe(201);
    expect(json).toStrictEqual({
      id: expect.stringMatching(/^kb_/),
      name: 'Menu',
      description: null,
      document_language: 'en',
      document_count: 0,
      chunking_strategy: 'recursive',
      vector_backend: 'vector_db_1',
      embedding_model: 'text-embedding-3-large',
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
    const read = await ask(sandbox, `GET ${knowledgeBasePath}/${String(json['id'])}`, ada);
    expect(read.json).toStrictEqual(json);
  });

  test('has the given fields, and belongs to the user who created it', async () => {
    const sandbox = await startedSandbox();
    const body = { ...whole, embedding_model: 'text-embedding-3-small' };
    const { json } = await ask(sandbox, `POST ${knowledgeBasePath}`, { ...ada, body });
    expect(json).toMatchObject(body);
    const line = `GET ${knowledgeBasePath}/${String(json['id'])}`;
    expect((await ask(sandbox, line, { key: keys.ben })).status).toBe(404);
    expect((await ask(sandbox, line, { key: keys.cleo })).status).toBe(404);
  });

  test.each<[string, object, string]>([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that is no text', { name: 7 }, 'name'],
    ['another strategy', { name: 'Menu', chunking_strategy: 'Recursive' }, 'chunking_strategy'],
    ['another backend', { name: 'Menu', vector_backend: 'vector_db_6' }, 'vector_backend'],
    ['another model', { name: 'Menu', embedding_model: 'text-embedding-3' }, 'embedding_model'],
    ['a part of a token', { name: 'Menu', chunk_size: 0.5 }, 'chunk_size'],
    ['chunks of nothing', { name: 'Menu', chunk_size: 0 }, 'chunk_size'],
    ['chunks that no model takes', { name: 'Menu', chunk_size: 8_192 }, 'chunk_size'],
    ['an overlap below 0', { name: 'Menu', chunk_overlap: -1 }, 'chunk_overlap'],
    ['a language that is none', { name: 'Menu', document_language: '??' }, 'document_language'],
    ['a description that is no text', { name: 'Menu', description: [] }, 'description'],
    ['an unknown workspace', { name: 'Menu', workspace_id: 'workspace_2' }, 'workspace_id'],
  ])('with %s is refused with 422', async (_, body, field) => {
    const sandbox = await startedSandbox();
    const { status, json } = await ask(sandbox, `POST ${knowledgeBasePath}`, { ...ada, body });
    expect(status).toBe(422);
    const issue = {
      loc: ['body', field],
      msg: expect.stringMatching(/^Should be /),
      type: expect.any(String),
    };
    expect(json).toStrictEqual({ detail: [issue] });
    expect((await ask(sandbox, `GET ${knowledgeBasePath}`, ada)).json['knowledge_bases']).toHaveLength(3);
  });

  test.each([{ chunk_size: 10, chunk_overlap: 10 }, { chunk_size: 50 }, { chunk_overlap: 512 }])(
    'with chunks that never advance (%j) is refused with 422',
    async (fields) => {
      const sandbox = await startedSandbox();
      const body = { name: 'Menu', ...fields };
      const { status, json } = await ask(sandbox, `POST ${knowledgeBasePath}`, { ...ada, body });
      expect(status).toBe(422);
      const msg = 'Should be an object whose chunk_overlap is less than its chunk_size';
      expect(json.detail).toEqual([{ loc: ['body'], msg, type: 'custom' }]);
    },
  );

  test('without a body, or with one that is no object, is refused with 422', async () => {
    const sandbox = await startedSandbox();
    for (const body of [undefined, 'null', '[]', '"Menu"']) {
      const { status } = await ask(sandbox, `POST ${knowledgeBasePath}`, { ...ada, ...(body && { body }) });
      expect(status).toBe(422);
    }
  });
});

describe('an update', () => {
  test('replaces everything that can be set, and keeps the model', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 2));
    const sandbox = await startedSandbox({ clock });
    const line = `${knowledgeBasePath}/kb_whole`;
    const before = await ask(sandbox, `GET ${line}`, ada);
    clock.advance(1_000);
    const { status, json } = await ask(sandbox, `PUT ${line}`, {
      ...ada,
      body: { name: 'Drinks', chunk_size: 64 },
    });
    expect(status).toBe(200);
    expect(json).toStrictEqual({
      ...before.json,
      name: 'Drinks',
      description: null,
      document_language: 'en',
      chunking_strategy: 'recursive',
      vector_backend: 'vector_db_1',
      chunk_size: 64,
      chunk_overlap: 50,
      assistant_persona: null,
      workspace_id: null,
      updated_at: '2026-01-02T00:00:01.000Z',
    });
    expect((await ask(sandbox, `GET ${line}`, ada)).json).toStrictEqual(json);
  });

  test('may repeat the model, and is refused with another one', async () => {
    const sandbox = await startedSandbox();
    const update = (model: string) =>
      ask(sandbox, `PUT ${knowledgeBasePath}/kb_whole`, {
        ...ada,
        body: { name: 'Menu', embedding_model: model },
      });
    expect((await update('text-embedding-3-large')).status).toBe(200);
    const refused = await update('text-embedding-3-small');
    expect(refused.status).toBe(422);
    expect(refused.json).toMatchObject({
      detail: [{ loc: ['body', 'embedding_model'], msg: expect.stringContaining('fixed at creation') }],
    });
  });
});

test('the list has what a user owns, in the order of creation, page by page', async () => {
  const sandbox = await startedSandbox();
  for (const name of ['One', 'Two'])
    await ask(sandbox, `POST ${knowledgeBasePath}`, { ...ada, body: { name } });
  const names = (json: object) =>
    (json as { knowledge_bases: { name: string }[] }).knowledge_bases.map(({ name }) => name);
  const first = await ask(sandbox, `GET ${knowledgeBasePath}?page_size=3`, ada);
  expect(names(first.json)).toEqual(['Handbook', 'Prices', 'Recipes']);
  const token = String(first.json.next_page_token);
  const second = await ask(sandbox, `GET ${knowledgeBasePath}?page_size=3&page_token=${token}`, ada);
  expect(names(second.json)).toEqual(['One', 'Two']);
  expect(second.json.next_page_token).toBeNull();
  const ben = await ask(sandbox, `GET ${knowledgeBasePath}`, { key: keys.ben });
  expect(names(ben.json)).toEqual(['Prices']);
  expect((await ask(sandbox, `GET ${knowledgeBasePath}?page_size=0`, ada)).status).toBe(422);
});

describe('every operation', () => {
  const operations = [
    'GET',
    'PUT',
    'DELETE',
    'POST /search',
    'POST /documents/file',
    'POST /documents/website',
    'GET /documents',
    'GET /documents/doc_1',
    'DELETE /documents/doc_1',
  ];
  const bodies: Readonly<Record<string, object>> = {
    PUT: { name: 'Menu' },
    'POST /search': { query: 'When?' },
    'POST /documents/website': { urls: ['http://127.0.0.1:1/'] },
  };

  test.each(operations)(
    'answers alike for what is missing, malformed or not owned: %s',
    async (operation) => {
      const sandbox = await startedSandbox();
      const [method = '', path = ''] = operation.split(' ');
      const body = operation.endsWith('/file') ? fileBody() : { body: bodies[operation] };
      for (const id of ['kb_missing', 'kb_other', '%00', '..%2F..', 'kb_plain%20']) {
        const answer = await ask(sandbox, `${method} ${knowledgeBasePath}/${id}${path}`, { ...ada, ...body });
        expect(answer.status).toBe(404);
        expect(answer.json).toStrictEqual({ error: 'not_found', message: 'Knowledge base not found' });
      }
      const long = 'x'.repeat(257);
      expect(
        (await ask(sandbox, `${method} ${knowledgeBasePath}/${long}${path}`, { ...ada, ...body })).status,
      ).toBe(422);
    },
  );

  test.each([...operations, 'POST'])('needs a key: %s', async (operation) => {
    const sandbox = await startedSandbox();
    const [method = '', path = ''] = operation.split(' ');
    const line =
      operation === 'POST' ? `POST ${knowledgeBasePath}` : `${method} ${knowledgeBasePath}/kb_plain${path}`;
    for (const key of [null, 'key_of_nobody']) {
      const { status, json } = await ask(sandbox, line, { key });
      expect([status, json.error]).toEqual([401, 'unauthorized']);
    }
  });

  /** A form with one file, as `fetch` would encode it. */
  function fileBody() {
    const lines = [
      '--b',
      'Content-Disposition: form-data; name="file"; filename="a.txt"',
      '',
      'Text',
      '--b--',
      '',
    ];
    return { body: lines.join('\r\n'), headers: { 'content-type': 'multipart/form-data; boundary=b' } };
  }
});

test('a document is not updated: there is no such operation', async () => {
  const sandbox = await startedSandbox();
  const crawl = { ...ada, body: { urls: ['http://127.0.0.1:1/'] } };
  const documents = `${knowledgeBasePath}/kb_plain/documents`;
  const { json } = await ask(sandbox, `POST ${documents}/website`, crawl);
  for (const method of ['PUT', 'PATCH', 'POST']) {
    const answer = await ask(sandbox, `${method} ${documents}/${String(json['document_id'])}`, crawl);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, DELETE']);
  }
});

test('a document of another knowledge base, or of none, is not found', async () => {
  const sandbox = await startedSandbox();
  const crawl = { ...ada, body: { urls: ['http://127.0.0.1:1/'] } };
  const { json } = await ask(sandbox, `POST ${knowledgeBasePath}/kb_plain/documents/website`, crawl);
  const id = String(json['document_id']);
  for (const [base, document] of [
    ['kb_whole', id],
    ['kb_plain', 'doc_1'],
    ['kb_plain', 'x'.repeat(10_000)],
  ]) {
    for (const method of ['GET', 'DELETE']) {
      const line = `${method} ${knowledgeBasePath}/${base}/documents/${document}`;
      const answer = await ask(sandbox, line, ada);
      expect([answer.status, answer.json]).toEqual([
        404,
        { error: 'not_found', message: 'Document not found' },
      ]);
    }
  }
  expect((await ask(sandbox, `GET ${knowledgeBasePath}/kb_plain/documents/${id}`, ada)).status).toBe(200);
});

test.each<[string, object]>([
  ['no question', {}],
  ['a blank question', { query: ' \n' }],
  ['a question that is no text', { query: 7 }],
  ['a question of more than 10,000 characters', { query: 'x'.repeat(10_001) }],
  ['no results', { query: 'When?', limit: 0 }],
  ['more than 100 results', { query: 'When?', limit: 101 }],
])('a search for %s is refused with 422', async (_, body) => {
  const sandbox = await startedSandbox();
  const { status, json } = await ask(sandbox, `POST ${knowledgeBasePath}/kb_plain/search`, { ...ada, body });
  expect(status).toBe(422);
  expect(json.detail).toHaveLength(1);
});

test.each<[string, unknown]>([
  ['no addresses', { urls: [] }],
  ['a text', { urls: 'http://127.0.0.1:1/' }],
  ['something else than an address', { urls: ['here'] }],
  ['a file', { urls: ['file:///etc/passwd'] }],
  ['more than 100 addresses', { urls: Array.from({ length: 101 }, () => 'http://127.0.0.1:1/') }],
])('a crawl of %s is refused with 422, and submits nothing', async (_, body) => {
  const sandbox = await startedSandbox();
  const documents = `${knowledgeBasePath}/kb_plain/documents`;
  expect((await ask(sandbox, `POST ${documents}/website`, { ...ada, body })).status).toBe(422);
  expect((await ask(sandbox, `GET ${documents}`, ada)).json['documents']).toEqual([]);
});

test('what is stored survives a restart; what is deleted stays deleted', async () => {
  const database = temporaryDatabase();
  const sandbox = await startedSandbox({ database });
  const { json } = await ask(sandbox, `POST ${knowledgeBasePath}`, { ...ada, body: whole });
  expect((await ask(sandbox, `DELETE ${knowledgeBasePath}/kb_plain`, ada)).status).toBe(204);
  await sandbox.stop();
  const again = await startedSandbox({ database });
  expect((await ask(again, `GET ${knowledgeBasePath}/${String(json['id'])}`, ada)).json).toStrictEqual(json);
  expect((await ask(again, `GET ${knowledgeBasePath}/kb_plain`, ada)).status).toBe(404);
});
