import { z } from 'zod';
import { causeIn, codeOf } from '../../../kit/error-text.ts';
import { jsonOrText, readBounded } from '../../../kit/http-bodies.ts';
import { type Embedder, offlineEmbedder, toUnitLength } from './embedder.ts';

/** An OpenAI-compatible service that makes embeddings. */
export interface EmbeddingService {
  /** The address before `/embeddings`, such as `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  /** Sent as a bearer token. @default an empty one, for services that need none */
  readonly apiKey?: string | undefined;
}

/** Why a service embedded nothing. Contains neither the key nor parts of the texts or the answer. */
export class EmbeddingProblem extends Error {
  override readonly name = 'EmbeddingProblem';
  /** The status of the answer; undefined when there was none. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

const batchSize = 100;

/** The most bytes of an answer per text: a vector of 3,072 numbers, written in full, has seventy thousand. */
const maxBytes = 320 * 1024;

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()).min(1) })),
});

/** The embedder for knowledge bases with a model: that of the service, or else the one that needs no model. */
export function embedderFor(model: string, service: EmbeddingService | undefined): Embedder {
  return service ? openaiEmbedder(service, model) : offlineEmbedder();
}

/** Embeds with a model of a service, without retries and redirects. */
export function openaiEmbedder(service: EmbeddingService, model: string): Embedder {
  return {
    async embed(texts, { signal }) {
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += batchSize) {
        vectors.push(...(await embedBatch(texts.slice(start, start + batchSize), service, model, signal)));
      }
      if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw notEmbeddings();
      return vectors;
    },
  };
}

async function embedBatch(
  texts: readonly string[],
  { url, apiKey = '' }: EmbeddingService,
  model: string,
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const request: RequestInit = {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
    redirect: 'manual',
    signal: signal ?? null,
  };
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/embeddings`, request);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new EmbeddingProblem(`The embedding service answered ${response.status}`, response.status);
    }
    const bytes = await readBounded(response.body, texts.length * maxBytes);
    return vectorsIn(jsonOrText(bytes?.toString() ?? ''), texts.length);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof EmbeddingProblem) throw error;
    // The error about a key that is invalid in a header quotes the key.
    const code = codeOf(causeIn(error));
    throw new EmbeddingProblem(`The embedding service can't be reached${code && `: ${code}`}`);
  }
}

function vectorsIn(answer: unknown, count: number): readonly Float32Array[] {
  const { data, success } = answerSchema.safeParse(answer);
  const sorted = data?.data.toSorted((left, right) => left.index - right.index) ?? [];
  const isComplete = sorted.length === count && sorted.every(({ index }, position) => index === position);
  if (!success || !isComplete) throw notEmbeddings();
  const vectors = sorted.map(({ embedding }) => toUnitLength(Float32Array.from(embedding)));
  // JSON may have larger numbers than 32-bit floats.
  if (!vectors.every((vector) => vector.every(Number.isFinite))) throw notEmbeddings();
  return vectors;
}

function notEmbeddings(): EmbeddingProblem {
  return new EmbeddingProblem(
    'The embedding service answered 200, but not with one vector for each text',
    200,
  );
}
