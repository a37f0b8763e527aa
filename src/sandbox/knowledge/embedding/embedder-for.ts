import { type Embedder, offlineEmbedder } from './embedder.ts';
import { type EmbeddingService, openaiEmbedder } from './openai-embedder.ts';

/**
 * The embedder for knowledge bases with a model. Not in `embedder.ts`, which both kinds of embedder import.
 *
 * @param service called with the model's name; without one, the embedder is the same for every model
 */
export function embedderFor(model: string, service: EmbeddingService | undefined): Embedder {
  return service ? openaiEmbedder(service, model) : offlineEmbedder();
}
