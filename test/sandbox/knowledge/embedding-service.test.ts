// @module-tag long
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { ask, startedSandbox } from '../support.ts';
import { createdKnowledgeBase, processed, queuedId, search, settled, upload } from './filling.ts';
import { knowledgeBasePath } from './knowledge-base-client.ts';
import { website } from './website.ts';

interface EmbeddingRequest {
  readonly model: string;
  readonly input: readonly string[];
}

/** A service on loopback that embeds by how many of three words a text has. It answers with `status` if that is set. */
async function embeddingService() {
  const requests: { readonly model: string; readonly key: string | undefined }[] = [];
  const state = { status: 200, requests };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { model, input } = (await readJson(request)) as EmbeddingRequest;
    requests.push({ model, key: request.headers.authorization });
    const data = input.map((text, index) => ({
      index,
      embedding: ['soup', 'shoe', 'car'].map((word) => 0.01 + text.split(word).length - 1),
    }));
    response.writeHead(state.status, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
  };
  const url = await website((request, response) => void answer(request, response));
  return { state, url: `${url}/v1` };
}

test('a service embeds documents and questions with the model of the knowledge base', async () => {
  const { state, url } = await embeddingService();
  const sandbox = await startedSandbox({ embeddings: { url, apiKey: 'key-of-the-service' } });
  const base = await createdKnowledgeBase(sandbox, { embedding_model: 'text-embedding-3-small' });
  for (const word of ['soup', 'shoe', 'car']) {
    const document = await processed(sandbox, base, { name: `${word}.txt`, content: `A ${word}` });
    expect(document.status).toBe('completed');
  }
  const found = await search(sandbox, base, 'Where is the shoe?', 1);
  expect(found).toMatchObject([{ document_name: 'shoe.txt', score: expect.closeTo(1) }]);
  expect(state.requests).toHaveLength(4);
  expect(new Set(state.requests.map(({ model }) => model))).toEqual(new Set(['text-embedding-3-small']));
  expect(new Set(state.requests.map(({ key }) => key))).toEqual(new Set(['Bearer key-of-the-service']));
});

test('without an answer of the service, documents fail and searches are answered with 503', async () => {
  const { state, url } = await embeddingService();
  const sandbox = await startedSandbox({ embeddings: { url } });
  const base = await createdKnowledgeBase(sandbox);
  await processed(sandbox, base, { name: 'soup.txt', content: 'A soup' });
  state.status = 500;
  const failed = await processed(sandbox, base, { name: 'shoe.txt', content: 'A shoe' });
  expect(failed.error).toEqual({ code: 'embedding_failed', message: 'The embedding service answered 500' });
  const line = `POST ${knowledgeBasePath}/${base}/search`;
  const answer = await ask(sandbox, line, { body: { query: 'soup' } });
  expect([answer.status, answer.json]).toEqual([
    503,
    { error: 'unavailable', message: 'The embedding service answered 500' },
  ]);
  state.status = 200;
  expect(await search(sandbox, base, 'soup')).toMatchObject([{ document_name: 'soup.txt' }]);
});

test('a search of a knowledge base that is deleted during it finds nothing of another', async () => {
  const asked = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { input } = (await readJson(request)) as EmbeddingRequest;
    if (input[0] === 'Where?') {
      asked.resolve();
      await mayAnswer.promise;
    }
    response.end(JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1] })) }));
  };
  const url = await website((request, response) => void answer(request, response));
  const sandbox = await startedSandbox({ embeddings: { url } });
  const deleted = await createdKnowledgeBase(sandbox);
  await processed(sandbox, deleted, { name: 'old.txt', content: 'Old' });
  const searching = search(sandbox, deleted, 'Where?');
  await asked.promise;
  await ask(sandbox, `DELETE ${knowledgeBasePath}/${deleted}`);
  const other = await createdKnowledgeBase(sandbox);
  await processed(sandbox, other, { name: 'secret.txt', content: 'Secret' });
  mayAnswer.resolve();
  expect(await searching).toEqual([]);
});

test('a document that was read in time may be embedded for ten minutes, and no longer', async () => {
  const silent = await website(() => {});
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock, embeddings: { url: silent } });
  const base = await createdKnowledgeBase(sandbox);
  const id = queuedId(await upload(sandbox, base, { name: 'soup.txt', content: 'A soup' }));
  await clock.timer(600_000);
  clock.advance(599_999);
  const line = `GET ${knowledgeBasePath}/${base}/documents/${id}`;
  expect((await ask(sandbox, line)).json).toMatchObject({ status: 'processing' });
  clock.advance(1);
  expect(await settled(sandbox, base, id)).toMatchObject({ status: 'failed', error: { code: 'too_slow' } });
});

test('what another embedder has filled is not compared with the vectors of a service', async () => {
  const database = temporaryDatabase();
  const offline = await startedSandbox({ database });
  const base = await createdKnowledgeBase(offline);
  await processed(offline, base, { name: 'soup.txt', content: 'A soup' });
  await offline.stop();
  const { url } = await embeddingService();
  const key = offline.apiKey ?? '';
  const sandbox = await startedSandbox({ database, embeddings: { url } });
  const failed = await processed(sandbox, base, { name: 'shoe.txt', content: 'A shoe' }, key);
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'embedding_failed' } });
  const answer = await ask(sandbox, `POST ${knowledgeBasePath}/${base}/search`, {
    key,
    body: { query: 'soup' },
  });
  expect(answer.status).toBe(503);
  expect(answer.json).toMatchObject({ message: expect.stringContaining('another model or service') });
});

test.each([
  {},
  { url: 'ftp://127.0.0.1/' },
  { url: 'here' },
  { url: 'http://127.0.0.1/', apiKey: 7 },
  'http://127.0.0.1/',
])('an option that names no service is refused: %j', (embeddings) => {
  const make = () => createSandbox({ embeddings } as never);
  expect(make).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/embeddings.* should be /) }),
  );
});
