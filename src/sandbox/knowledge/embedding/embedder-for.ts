import { type Embedder, offlineEmbedder } from './embedder.ts';
import { openaiEmbedder } from './openai-embedder.ts';

/** An OpenAI-compatible service that makes embeddings. */
export interface EmbeddingService {
  /** The address before `/embeddings`, such as `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  /** Sent as a bearer token. @default an empty one, for services that need none */
  readonly apiKey?: string | undefined;
}

/**
 * The embedder for knowledge bases with a model. Not in `embedder.ts`, which both kinds of embedder import.
 *
 * @param service called with the model's name; without one, the embedder is the same for every model
 */
export function embedderFor(model: string, service: EmbeddingService | undefined): Embedder {
  return service
    ? openaiEmbedder({ url: service.url, apiKey: service.apiKey ?? '', model })
    : offlineEmbedder();
}
