import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type EmbedOptions,
  type Embedder,
  offlineEmbedder,
} from '../../../src/sandbox/knowledge/embedding/embedder.ts';
import { Frequencies } from '../../../src/sandbox/knowledge/embedding/features.ts';
import {
  EmbeddingProblem,
  openaiEmbedder,
} from '../../../src/sandbox/knowledge/embedding/openai-embedder.ts';
import { listening } from '../../support/servers.ts';

const document = { purpose: 'document' } as const;

const dot = (left: Float32Array | undefined, right: Float32Array | undefined) =>
  left?.reduce((sum, value, index) => sum + value * (right?.[index] ?? 0), 0) ?? 0;

async function similarity(left: string, right: string, options: EmbedOptions = document): Promise<number> {
  const [one, other] = await offlineEmbedder().embed([left, right], options);
  return dot(one, other);
}

test('the offline embedder gives vectors of unit length, the same for the same text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
      const [one, other] = await offlineEmbedder().embed([text, text], document);
      expect(one).toStrictEqual(other);
      const length = Math.sqrt(dot(one, one));
      // A text without words says nothing.
      if (length !== 0) expect(length).toBeCloseTo(1, 5);
    }),
  );
});

test('texts with the same words are more alike, whatever their case, accents and endings', async () => {
  expect(await similarity('Crème brûlée', 'CREME BRULEE')).toBeCloseTo(1, 5);
  const other = await similarity('reservations', 'thunderstorm');
  expect(await similarity('reservations', 'reservation')).toBeGreaterThan(other + 0.3);
  expect(await similarity('営業時間は何時ですか', '営業時間')).toBeGreaterThan(other + 0.3);
});

test('in a query, the word that few chunks have counts more', async () => {
  const frequencies = new Frequencies();
  for (let chunk = 0; chunk < 50; chunk += 1) frequencies.add(`table number ${chunk}`);
  frequencies.add('lasagne');
  const embedder = offlineEmbedder();
  const [query] = await embedder.embed(['table lasagne'], { purpose: 'query', frequencies });
  const [table, lasagne] = await embedder.embed(['table', 'lasagne'], document);
  expect(dot(query, lasagne)).toBeGreaterThan(dot(query, table) + 0.3);
});

test('what frequencies have counted can be taken back, stored and read', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 });
  fc.assert(
    fc.property(texts, texts, (kept, removed) => {
      const expected = new Frequencies();
      for (const text of kept) expected.add(text);
      const changed = new Frequencies();
      for (const text of [...removed, ...kept]) changed.add(text);
      const taken = new Frequencies();
      for (const text of removed) taken.add(text);
      changed.merge(taken.toBytes(), -1);
      expect(Buffer.compare(changed.toBytes(), expected.toBytes())).toBe(0);
      const read = new Frequencies();
      read.merge(changed.toBytes());
      expect(Buffer.compare(read.toBytes(), expected.toBytes())).toBe(0);
    }),
    { numRuns: 20 },
  );
});

type Answer = (response: ServerResponse, input: readonly string[]) => unknown;

/** An OpenAI-compatible service, the requests that came to it, and an embedder that asks it. */
async function service(answer: Answer) {
  const requests: { readonly request: IncomingMessage; readonly body: unknown }[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await json(request)) as { readonly input: readonly string[] };
    requests.push({ request, body });
    answer(response, body.input);
  };
  const port = await listening((request, response) => void receive(request, response));
  const url = `http://127.0.0.1:${port}/v1/`;
  return {
    requests,
    embedder: openaiEmbedder({ url, apiKey: 'key_secret' }, 'text-embedding-3-small'),
  };
}

const answerWith = (response: ServerResponse, data: readonly unknown[]) =>
  void response.end(JSON.stringify({ data }));

/** Why nothing was embedded: the error, which must tell nothing that is private. */
async function problemOf(embedder: Embedder): Promise<EmbeddingProblem> {
  const error: unknown = await embedder
    .embed(['private words'], document)
    .catch((problem: unknown) => problem);
  if (!(error instanceof EmbeddingProblem)) throw new Error('there is no EmbeddingProblem', { cause: error });
  expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toMatch(
    /key_secret|private words/,
  );
  return error;
}

test('a service is asked for a hundred texts at a time, and its vectors come in the order of the texts', async () => {
  const { embedder, requests } = await service((response, input) =>
    answerWith(response, input.map((text, index) => ({ index, embedding: [Number(text), 3] })).toReversed()),
  );
  const vectors = await embedder.embed(
    Array.from({ length: 201 }, (_, number) => String(number)),
    document,
  );
  expect(vectors).toHaveLength(201);
  expect(vectors[4]?.[0]).toBeCloseTo(0.8);
  expect(vectors[4]?.[1]).toBeCloseTo(0.6);
  expect(requests).toHaveLength(3);
  expect(requests[2]?.request.url).toBe('/v1/embeddings');
  expect(requests[2]?.request.headers.authorization).toBe('Bearer key_secret');
  expect(requests[2]?.body).toEqual({
    model: 'text-embedding-3-small',
    input: ['200'],
    encoding_format: 'float',
  });
});

test.each([302, 400, 401, 429, 500])('an answer of %i is a problem with that status', async (status) => {
  const { embedder, requests } = await service((response, input) =>
    response.writeHead(status, { location: '/v1/elsewhere' }).end(`key_secret ${input.join()}`),
  );
  expect((await problemOf(embedder)).status).toBe(status);
  expect(requests).toHaveLength(1);
});

test.each<[string, Answer]>([
  ['no JSON', (response) => response.end('private words')],
  ['too few vectors', (response) => answerWith(response, [])],
  [
    'a number too large for a vector',
    (response) => response.end('{"data":[{"index":0,"embedding":[1e39]}]}'),
  ],
  [
    'a vector longer than any',
    (response) => answerWith(response, [{ index: 0, embedding: Array.from({ length: 200_000 }, () => 1) }]),
  ],
  ['an empty vector', (response) => answerWith(response, [{ index: 0, embedding: [] }])],
  ['the vector of another text', (response) => answerWith(response, [{ index: 1, embedding: [1] }])],
])('an answer with %s is a problem', async (_what, answer) => {
  const { embedder } = await service(answer);
  expect((await problemOf(embedder)).message).toContain('not with one vector for each text');
});

test('a service that is not there, cuts the connection, or can get no such key is a problem without a status', async () => {
  const model = 'text-embedding-3-small';
  const absent = openaiEmbedder({ url: 'http://127.0.0.1:1', apiKey: 'key_secret' }, model);
  expect(await problemOf(absent)).toMatchObject({ status: undefined });
  const { embedder } = await service((response) => response.destroy());
  expect(await problemOf(embedder)).toMatchObject({ status: undefined });
  const unsendable = openaiEmbedder({ url: 'http://127.0.0.1:1', apiKey: 'key_secret\n\nx' }, model);
  expect(await problemOf(unsendable)).toMatchObject({ status: undefined });
});

test('a signal ends the request with its own reason', async () => {
  const abort = new AbortController();
  const { embedder } = await service(() => abort.abort(new Error('no longer wanted')));
  await expect(embedder.embed(['a'], { ...document, signal: abort.signal })).rejects.toThrow(
    'no longer wanted',
  );
});
