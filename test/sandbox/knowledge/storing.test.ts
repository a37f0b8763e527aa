import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { Database } from '../../../src/sandbox/database.ts';
import { Failures } from '../../../src/sandbox/failures.ts';
import { Documents } from '../../../src/sandbox/knowledge/documents.ts';
import { offlineEmbedder } from '../../../src/sandbox/knowledge/embedding/embedder.ts';
import { newKnowledgeBaseSchema } from '../../../src/sandbox/knowledge/fields.ts';
import { Ingestion, ingestOperation } from '../../../src/sandbox/knowledge/ingestion.ts';
import { KnowledgeBases } from '../../../src/sandbox/knowledge/knowledge-bases.ts';
import type { ProcessingThread } from '../../../src/sandbox/knowledge/processing/processing-thread.ts';
import { Search } from '../../../src/sandbox/knowledge/search.ts';

const text = 'The garden is behind the house';
const count = 1_000;

/** An ingestion whose thread makes many chunks of each document, and a document that is being stored: some of its chunks are. */
async function storing() {
  const database = new Database(':memory:');
  onTestFinished(() => database.close());
  const documents = new Documents(database);
  const knowledgeBases = new KnowledgeBases(database);
  const search = new Search(database, () => offlineEmbedder());
  const fields = newKnowledgeBaseSchema.parse({ name: 'Handbook' });
  const base = knowledgeBases.create({ organizationId: 'org_1', userId: 'user_1' }, fields, 0);
  const [vector = new Float32Array()] = await offlineEmbedder().embed([text], { purpose: 'document' });
  const chunks = Array<string>(count).fill(text);
  const processed = { chunks, vectors: chunks.map(() => vector), frequencies: new Uint8Array(4) };
  const stopping = new AbortController();
  const thread = { process: () => Promise.resolve(processed), end: () => Promise.resolve() };
  const ingestion = new Ingestion({
    documents,
    search,
    thread: thread as unknown as ProcessingThread,
    fieldsOf: () => fields,
    getPage: () => Promise.reject(new Error('There are no pages')),
    failures: new Failures([ingestOperation]),
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    stopping: stopping.signal,
  });
  const stored = database.connection.prepare<[], number>('select count(*) from chunks').pluck();
  const found = async () => (await search.find(base, 'garden', 100, stopping.signal)).length;
  // From now on, the index follows the documents.
  expect(await found()).toBe(0);
  const source = { kind: 'file', contentType: 'text/plain' } as const;
  const content = Buffer.from(text);
  const submission = { knowledgeBaseId: base.id, name: 'a.txt', source, content, size: content.length };
  const { id } = documents.add(submission, 0);
  const shown = () => documents.find(base.id, id);
  ingestion.start();
  while (stored.get() === 0) await setImmediate();
  return { documents, search, ingestion, stopping, stored, found, shown };
}

test('storing many chunks does not block other work, which finds none of them yet', async () => {
  const { stored, found, shown } = await storing();
  expect(stored.get()).toBeLessThan(count);
  expect(shown()).toMatchObject({ status: 'processing', chunkCount: 0 });
  expect(await found()).toBe(0);
  await expect.poll(() => shown()?.status).toBe('completed');
  expect(shown()).toMatchObject({ chunkCount: count });
  expect(stored.get()).toBe(count);
  expect(await found()).toBe(100);
});

test('of a document that is deleted while its chunks are stored, none is left', async () => {
  const { documents, search, ingestion, stored, found, shown } = await storing();
  const document = shown();
  expect(document).toBeDefined();
  if (document) search.remove(document);
  if (document) documents.delete(document);
  await ingestion.stop();
  expect(stored.get()).toBe(0);
  expect(await found()).toBe(0);
});

test('a document with only part of its chunks stored is processed again at the next start', async () => {
  const { documents, ingestion, stopping, stored, shown } = await storing();
  stopping.abort();
  await ingestion.stop();
  expect(stored.get()).toBeGreaterThan(0);
  expect(shown()).toMatchObject({ status: 'processing' });
  documents.resume(1);
  expect(stored.get()).toBe(0);
  expect(shown()).toMatchObject({ status: 'queued', chunkCount: 0 });
});
