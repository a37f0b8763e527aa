import { describe, expect, it, test } from 'vitest';
import type { KnowledgeBaseFields, KnowledgeBases } from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';
import { clientOf, kb, platformError, standIn, everything } from './support.ts';

const fields: KnowledgeBaseFields = {
  name: 'Handbook',
  description: null,
  document_language: 'de',
  chunking_strategy: 'sentence',
  vector_backend: 'vector_db_2',
  embedding_model: 'text-embedding-3-small',
  chunk_size: 256,
  chunk_overlap: 0,
  assistant_persona: 'I know the handbook.',
  workspace_id: 'workspace_1',
};
const found = { document_id: 'doc_1', document_name: 'prices.md', text: 'A repair costs 40.', score: 0.7 };

describe('knowledgeBases', () => {
  it('creates one with every field', async () => {
    const { url, received } = await standIn({ status: 201, json: { ...kb, added: 1 } });
    expect(await clientOf(url).platform.knowledgeBases.create(fields)).toMatchObject({
      id: 'kb_1',
      chunk_size: 512,
      added: 1,
    });
    expect(received).toMatchObject([{ method: 'POST', url: '/api/v1/knowledge-bases' }]);
    expect(JSON.parse(received[0]?.body ?? '')).toEqual(fields);
  });

  it('lists all, page by page', async () => {
    const { url, received } = await standIn(
      { json: { knowledge_bases: [kb, { ...kb, id: 'kb_2', added: 1 }], next_page_token: 'two' } },
      { json: { knowledge_bases: [{ ...kb, id: 'kb_3' }], next_page_token: null } },
    );
    const listed = await everything(clientOf(url).platform.knowledgeBases.list({ pageSize: 2 }));
    expect(listed).toMatchObject([{ id: 'kb_1' }, { id: 'kb_2', added: 1 }, { id: 'kb_3' }]);
    expect(received.map((request) => request.url)).toEqual([
      '/api/v1/knowledge-bases?page_size=2',
      '/api/v1/knowledge-bases?page_size=2&page_token=two',
    ]);
  });

  it('updates one as a whole', async () => {
    const { url, received } = await standIn({ json: { ...kb, name: 'Prices' } });
    const { platform } = clientOf(url);
    expect(await platform.knowledgeBases.update('kb/1', { name: 'Prices' })).toMatchObject({
      name: 'Prices',
    });
    expect(received).toMatchObject([
      { method: 'PUT', url: '/api/v1/knowledge-bases/kb%2F1', body: '{"name":"Prices"}' },
    ]);
  });

  it('deletes one', async () => {
    const { url, received } = await standIn({ status: 204 });
    await expect(clientOf(url).platform.knowledgeBases.delete('kb_1')).resolves.toBeUndefined();
    expect(received).toMatchObject([{ method: 'DELETE', url: '/api/v1/knowledge-bases/kb_1' }]);
  });

  it('searches one', async () => {
    const { url, received } = await standIn({ json: { results: [{ ...found, page: 3 }], took: 5 } });
    const { platform } = clientOf(url);
    expect(await platform.knowledgeBases.search('kb_1', ' repair? ', { limit: 3 })).toEqual({
      results: [{ ...found, page: 3 }],
      took: 5,
    });
    await platform.knowledgeBases.search('kb_1', 'repair');
    expect(received.map(({ method, url: path, body }) => [method, path, body])).toEqual([
      ['POST', '/api/v1/knowledge-bases/kb_1/search', '{"query":" repair? ","limit":3}'],
      ['POST', '/api/v1/knowledge-bases/kb_1/search', '{"query":"repair"}'],
    ]);
  });

  it('accepts a search result with any fields', async () => {
    const { url } = await standIn({ json: { results: [{ passage: 'A repair costs 40.' }] } });
    expect(await clientOf(url).platform.knowledgeBases.search('kb_1', 'repair')).toEqual({
      results: [{ passage: 'A repair costs 40.' }],
    });
  });

  test('a search is a read: it is tried again, and never in doubt', async () => {
    const { url, received } = await standIn(
      (response) => void response.destroy(),
      { status: 500, json: {} },
      { status: 500, json: {} },
      { json: { results: [] } },
    );
    const { knowledgeBases } = clientOf(url).platform;
    expect(await knowledgeBases.search('kb_1', 'repair')).toEqual({ results: [] });
    expect(received).toHaveLength(4);
    const failing = await standIn({ status: 500, json: {} });
    const asked = clientOf(failing.url).platform.knowledgeBases.search('kb_1', 'repair');
    expect((await platformError(asked)).message).not.toContain('carried out');
  });

  test('a creation without an answer is not repeated, and its error says where to look', async () => {
    const { url, received } = await standIn((response) => void response.destroy());
    const { message } = await platformError(clientOf(url).platform.knowledgeBases.create({ name: 'a' }));
    expect(message).toContain('Check with knowledgeBases.list before you create it again.');
    expect(received).toHaveLength(1);
  });

  test('a creation that was answered with 503 and a time to come back is', async () => {
    const refusal = { status: 503, headers: { 'retry-after': '1' }, json: {} };
    const { url, received } = await standIn(refusal, { status: 201, json: kb });
    expect(await clientOf(url).platform.knowledgeBases.create({ name: 'a' })).toMatchObject(kb);
    expect(received).toHaveLength(2);
  });
});

describe('what is refused before anything is sent', () => {
  test.each([
    ['a field that there is not', { name: 'a', chunk_sise: 7 }, /Did you mean chunk_size\?/],
    ['no name', {}, /The option name in knowledgeBases\.create/],
    ['an empty name', { name: '' }, /The option name in knowledgeBases\.create/],
    ['a size that is none', { name: 'a', chunk_size: 0 }, /The option chunk_size .* 1 or more/],
    ['an overlap that is none', { name: 'a', chunk_overlap: -1 }, /The option chunk_overlap .* 0 or more/],
  ])('%s', async (_, wrong, sentence) => {
    const { url, received } = await standIn({ json: kb });
    const { knowledgeBases } = clientOf(url).platform;
    await expect(knowledgeBases.create(untyped(wrong))).rejects.toThrow(sentence);
    expect(received).toEqual([]);
  });

  test.each([
    ['an empty question', ' ', {}, /The option query in knowledgeBases\.search/],
    ['a limit of none', 'a', { limit: 0 }, /The option limit in knowledgeBases\.search/],
    ['an unknown option', 'a', { top_k: 1 }, /top_k/],
  ])('%s', async (_, query, options, sentence) => {
    const { url, received } = await standIn({ json: {} });
    const { knowledgeBases } = clientOf(url).platform;
    await expect(knowledgeBases.search('kb_1', query, untyped(options))).rejects.toThrow(sentence);
    expect(received).toEqual([]);
  });

  test.each([
    ['update', (all: KnowledgeBases) => all.update('..', { name: 'a' })],
    ['delete', (all: KnowledgeBases) => all.delete('..')],
    ['search', (all: KnowledgeBases) => all.search('..', 'a')],
  ])('an id that is none, by %s', async (operation, call) => {
    const { url, received } = await standIn({ json: kb });
    await expect(call(clientOf(url).platform.knowledgeBases)).rejects.toThrow(
      `The option id in knowledgeBases.${operation} should be an id`,
    );
    expect(received).toEqual([]);
  });
});
