/** The values that the platform's document allows in a knowledge base. */
import { describe, expect, it, test } from 'vitest';
import { type Seed, createSandbox } from '../../src/sandbox/index.ts';
import { ask, startedSandbox } from './support.ts';

const base = { id: 'kb_1', name: 'Menu' };

function seedWith(...knowledgeBases: readonly object[]): Seed {
  const users = [{ id: 'user_1', name: 'Ada', keys: ['key_of_ada'] }];
  return { organizations: [{ id: 'org_1', name: 'One', users, knowledge_bases: knowledgeBases }] } as Seed;
}

describe('a knowledge base has each value of', () => {
  test.each([
    ['chunking_strategy', ['fixed_size', 'semantic', 'sentence', 'paragraph', 'recursive']],
    ['vector_backend', ['vector_db_1', 'vector_db_2', 'vector_db_3', 'vector_db_4', 'vector_db_5']],
    ['embedding_model', ['text-embedding-3-small', 'text-embedding-3-large']],
  ])('%s', async (field, values) => {
    const bases = values.map((value, index) => ({ ...base, id: `kb_${index}`, [field]: value }));
    const sandbox = await startedSandbox({ seed: seedWith(...bases) });
    const found = [];
    for (const { id } of bases) {
      const { json } = await ask(sandbox, `GET /api/v1/knowledge-bases/${id}`, { key: 'key_of_ada' });
      found.push((json as Record<string, unknown>)[field]);
    }
    expect(found).toEqual(values);
  });
});

describe('a seed is refused for a knowledge base with', () => {
  test.each<[string, string, unknown]>([
    ['another strategy', 'chunking_strategy', 'Recursive'],
    ['another backend', 'vector_backend', 'vector_db_6'],
    ['another model', 'embedding_model', 'text-embedding-3'],
    ['a status, which its documents have', 'status', 'completed'],
    ['a name that is no text', 'name', 7],
    ['a language that is no text', 'document_language', null],
    ['a count, which its documents are', 'document_count', 1],
    ['an overlap as large as a chunk', 'chunk_overlap', 512],
    ['a language that is none', 'document_language', 'e'],
    ['a language longer than any', 'document_language', `en-x${'-a'.repeat(50)}`],
    ['documents that are no list', 'documents', {}],
    ['part of a chunk', 'chunk_size', 512.5],
    ['an overlap that is no number', 'chunk_overlap', '50'],
    ['a time that is none', 'created_at', 'yesterday'],
  ])('%s', (_, field, value) => {
    const make = () => createSandbox({ seed: seedWith({ ...base, [field]: value }) });
    const message = expect.stringContaining(`organizations.0.knowledge_bases.0.${field} should be`);
    expect(make).toThrow(expect.objectContaining({ code: 'seed_invalid', message }));
  });

  it('the id of another', () => {
    const make = () => createSandbox({ seed: seedWith(base, { ...base, name: 'Drinks' }) });
    expect(make).toThrow('knowledge_bases "kb_1" should be there once');
  });
});
