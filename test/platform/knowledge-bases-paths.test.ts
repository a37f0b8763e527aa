import { describe, expect, it, test } from 'vitest';
import { type KnowledgeBasePaths, createPlatform } from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';
import { apiKey, clientOf, kb, standIn, everything } from './support.ts';

const document = { document_id: 'doc_1', status: 'completed' };
const file = { name: 'a.txt', content: 'a' };

/** Every operation once, in the order of the paths. */
async function pathsAsked(knowledgeBasePaths: Partial<KnowledgeBasePaths>): Promise<string[]> {
  const { url, received } = await standIn({
    json: { ...kb, ...document, knowledge_bases: [], documents: [], results: [] },
  });
  const { knowledgeBases, documents } = clientOf(url, { knowledgeBasePaths }).platform;
  await knowledgeBases.create({ name: 'a' });
  await everything(knowledgeBases.list());
  await knowledgeBases.update('k/1', { name: 'a' });
  await knowledgeBases.delete('k/1');
  await knowledgeBases.search('k/1', 'a');
  await documents.upload('k/1', file);
  await documents.crawl('k/1', ['https://www.example.com']);
  await everything(documents.list('k/1'));
  await documents.get('k/1', 'd 1');
  await documents.completed('k/1', 'd 1');
  await documents.delete('k/1', 'd 1');
  await documents.refresh('k/1', 'd 1', file);
  return received.map(({ method, url: path }) => `${method} ${path}`);
}

describe('the paths of the operations on knowledge bases', () => {
  it('have defaults', async () => {
    const member = '/api/v1/knowledge-bases/k%2F1';
    expect(await pathsAsked({})).toEqual([
      'POST /api/v1/knowledge-bases',
      'GET /api/v1/knowledge-bases?page_size=100',
      `PUT ${member}`,
      `DELETE ${member}`,
      `POST ${member}/search`,
      `POST ${member}/documents/file`,
      `POST ${member}/documents/website`,
      `GET ${member}/documents?page_size=100`,
      `GET ${member}/documents/d%201`,
      `GET ${member}/documents/d%201`,
      `DELETE ${member}/documents/d%201`,
      `DELETE ${member}/documents/d%201`,
      `POST ${member}/documents/file`,
    ]);
  });

  it('can be set, each of them', async () => {
    const asked = await pathsAsked({
      create: '/v2/kb/new',
      list: '/v2/kb/',
      update: '/v2/kb/{kb_id}/settings',
      delete: '/v2/kb/delete/{kb_id}',
      search: '/v2/search-{kb_id}',
      upload: '/v2/kb/{kb_id}/files',
      crawl: '/v2/kb/{kb_id}/websites',
      listDocuments: '/v2/kb/{kb_id}/all',
      getDocument: '/v2/documents/{document_id}/status',
      deleteDocument: '/v2/kb/{kb_id}/of/{kb_id}/{document_id}',
    });
    expect(asked).toEqual([
      'POST /v2/kb/new',
      'GET /v2/kb/?page_size=100',
      'PUT /v2/kb/k%2F1/settings',
      'DELETE /v2/kb/delete/k%2F1',
      'POST /v2/search-k%2F1',
      'POST /v2/kb/k%2F1/files',
      'POST /v2/kb/k%2F1/websites',
      'GET /v2/kb/k%2F1/all?page_size=100',
      'GET /v2/documents/d%201/status',
      'GET /v2/documents/d%201/status',
      'DELETE /v2/kb/k%2F1/of/k%2F1/d%201',
      'DELETE /v2/kb/k%2F1/of/k%2F1/d%201',
      'POST /v2/kb/k%2F1/files',
    ]);
  });

  it('can be set one by one', async () => {
    expect(await pathsAsked({ search: '/search/{kb_id}' })).toEqual(
      expect.arrayContaining(['POST /search/k%2F1', 'POST /api/v1/knowledge-bases/k%2F1/documents/file']),
    );
  });

  test('an id is put in as it is, whatever a replacement may mean by it', async () => {
    const { url, received } = await standIn({ json: document });
    await clientOf(url).platform.documents.get('$&', '{kb_id}');
    expect(received[0]?.url).toBe('/api/v1/knowledge-bases/%24%26/documents/%7Bkb_id%7D');
  });
});

describe('a path is refused', () => {
  const given = (knowledgeBasePaths: object) => () =>
    createPlatform({
      baseUrl: 'https://api.example.com',
      apiKey,
      knowledgeBasePaths: untyped(knowledgeBasePaths),
    });

  test.each([
    ['without the place of an id', { update: '/kb' }, 'with {kb_id}, but is "/kb"'],
    ['of a document without its id', { getDocument: '/kb/{kb_id}' }, 'with {document_id}'],
    ['with a place for an id that there is not', { upload: '/kb/{kb_id}/{document_id}' }, 'with {kb_id}'],
    ['with another name for an id', { search: '/kb/{id}' }, 'with {kb_id}'],
    ['that does not begin with a slash', { create: 'kb' }, 'a path such as'],
    ['that is an address', { create: 'https://elsewhere.example.com/kb' }, 'a path such as'],
    ['with a query', { create: '/kb?a=b' }, 'a path such as'],
    ['with a blank', { create: '/kb /a' }, 'a path such as'],
    ['that leads out of another', { create: '/kb/../a' }, 'a path such as'],
    ['that leads out in disguise', { create: '/kb/%2e%2e/a' }, 'a path such as'],
    ['that is no text', { create: 7 }, 'a path such as'],
  ])('%s', (_, paths, expected) => {
    expect(given(paths)).toThrow(
      expect.objectContaining({
        code: 'option_invalid',
        message: expect.stringMatching(/^The option knowledgeBasePaths\.\w+ in createPlatform should be/),
      }),
    );
    expect(given(paths)).toThrow(expected);
  });

  test('of an unknown operation', () => {
    expect(given({ serach: '/kb/{kb_id}' })).toThrow(
      expect.objectContaining({
        code: 'option_unknown',
        message: expect.stringMatching(/createPlatform\.knowledgeBasePaths.*Did you mean search\?/),
      }),
    );
  });

  test('of the one that the document shows', () => {
    expect(given({ get: '/kb/{kb_id}' })).toThrow(expect.objectContaining({ code: 'option_unknown' }));
  });
});
