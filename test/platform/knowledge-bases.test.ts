import { expect, it, test } from 'vitest';
import { clientOf, everything, kb, sandboxAndPlatform, standIn } from './support.ts';

it('gives the whole knowledge base', async () => {
  const { platform } = await sandboxAndPlatform();
  expect(await platform.knowledgeBases.get('kb_1')).toEqual({
    id: 'kb_1',
    name: 'Handbook',
    description: 'All of it',
    document_language: 'en',
    document_count: 0,
    chunking_strategy: 'recursive',
    vector_backend: expect.any(String),
    embedding_model: 'text-embedding-3-small',
    chunk_size: 512,
    chunk_overlap: 50,
    assistant_persona: null,
    status: null,
    workspace_id: null,
    organization_id: 'org_1',
    user_id: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
});

it('fills in the defaults of the document, but assumes no embedding model and no vector backend', async () => {
  const { url } = await standIn({ json: { id: 'kb_1', name: 'Old', created_at: 'a', updated_at: 'b' } });
  expect(await clientOf(url).platform.knowledgeBases.get('kb_1')).toStrictEqual({
    id: 'kb_1',
    name: 'Old',
    description: null,
    document_language: 'en',
    document_count: 0,
    chunking_strategy: 'recursive',
    chunk_size: 512,
    chunk_overlap: 50,
    assistant_persona: null,
    status: null,
    workspace_id: null,
    organization_id: null,
    user_id: null,
    created_at: 'a',
    updated_at: 'b',
  });
});

it('reads null as not given, so that one knowledge base hides no other', async () => {
  const unset = Object.fromEntries(
    [
      'document_language',
      'document_count',
      'chunking_strategy',
      'vector_backend',
      'embedding_model',
      'chunk_size',
      'chunk_overlap',
    ].map((field) => [field, null]),
  );
  const { url } = await standIn({ json: { knowledge_bases: [{ ...kb, ...unset }, kb] } });
  const [first, second] = await everything(clientOf(url).platform.knowledgeBases.list());
  expect(first).toEqual(second);
});

it('gives the embedding model that the answer has', async () => {
  const { platform } = await sandboxAndPlatform();
  expect(await platform.knowledgeBases.get('kb_2')).toMatchObject({
    embedding_model: 'text-embedding-3-large',
  });
});

test.each(['id', 'name', 'created_at', 'updated_at'])(
  'an answer without %s is not taken for one',
  async (field) => {
    const { [field]: _, ...rest } = { id: 'kb_1', name: 'Old', created_at: 'a', updated_at: 'b' } as Record<
      string,
      string
    >;
    const { url } = await standIn({ json: rest });
    await expect(clientOf(url).platform.knowledgeBases.get('kb_1')).rejects.toMatchObject({
      code: 'unexpected_answer',
      details: [{ path: field, problem: expect.any(String) }],
    });
  },
);
