/** The fields of a knowledge base (platform document, KnowledgeBase) in seeds and in the API. */
import { z } from 'zod';
import { chunkingStrategies } from './chunking/chunk.ts';

/** Placeholders: the document mentions five, in an order, but not their names. All of them search the same index. */
const vectorBackends = ['vector_db_1', 'vector_db_2', 'vector_db_3', 'vector_db_4', 'vector_db_5'] as const;

const embeddingModels = ['text-embedding-3-small', 'text-embedding-3-large'] as const;

/** The most tokens that the embedding models accept. */
const maxChunkSize = 8_191;

/** The longest language tag: parsing one takes quadratic time, and BCP 47 expects up to 35 characters. */
const maxLanguage = 100;

const text = z.string('text');
const name = z.string('text').min(1, 'text that is not empty').max(1_000, 'text of at most 1,000 characters');
const textOrNull = z.string('text or null').nullable();
const size = `a whole number from 1 to ${maxChunkSize}`;
const time = z.iso.datetime('a time in ISO 8601, such as 2026-01-01T00:00:00.000Z');

const shared = {
  name,
  description: textOrNull.default(null),
  document_language: text.refine(isLanguage, 'a language, such as en').default('en'),
  chunking_strategy: z
    .enum(chunkingStrategies, `one of ${chunkingStrategies.join(', ')}`)
    .default('recursive'),
  vector_backend: z.enum(vectorBackends, `one of ${vectorBackends.join(', ')}`).default('vector_db_1'),
  chunk_size: z.int(size).min(1, size).max(maxChunkSize, size).default(512),
  chunk_overlap: z.int('a whole number from 0').min(0, 'a whole number from 0').default(50),
  assistant_persona: textOrNull.default(null),
  workspace_id: textOrNull.default(null),
};

const embeddingModel = z.enum(embeddingModels, `one of ${embeddingModels.join(', ')}`);

/** The body that creates one. The default model differs from that of older ones (platform document). */
export const newKnowledgeBaseSchema = z
  .object({ ...shared, embedding_model: embeddingModel.default('text-embedding-3-large') }, 'an object')
  .superRefine(refuseOverlap);

/** The body that replaces one. The model is fixed at creation time (platform document). */
export const changedKnowledgeBaseSchema = z
  .object({ ...shared, embedding_model: embeddingModel.optional() }, 'an object')
  .superRefine(refuseOverlap);

const documentSeedSchema = z.strictObject({
  name: name.describe('The name of a file; its ending says what it is: .txt, .md or .html.'),
  text: text.min(1, 'text that is not empty'),
});

/**
 * A knowledge base in a seed: the fields of the platform's document with its defaults. Without `user_id`, it belongs to
 * every user of its organization. The times default to the time of the seeding.
 *
 * @example { "id": "kb_1", "name": "Handbook" }
 */
export const knowledgeBaseSeedSchema = z.strictObject({
  id: name,
  ...shared,
  embedding_model: embeddingModel.default('text-embedding-3-small'),
  user_id: textOrNull.default(null),
  created_at: time.optional(),
  updated_at: time.optional(),
  documents: z
    .array(documentSeedSchema, 'a list of documents')
    .default([])
    .describe('Processed when the sandbox starts, as uploads are.'),
});

export type KnowledgeBaseSeed = z.output<typeof knowledgeBaseSeedSchema> & {
  readonly organization_id: string;
};

export type KnowledgeBaseFields = z.output<typeof newKnowledgeBaseSchema>;

/** Whether a chunk has more tokens than the next one repeats. */
export function advances(fields: ChunkFields): boolean {
  return fields.chunk_overlap < fields.chunk_size;
}

interface ChunkFields {
  readonly chunk_size: number;
  readonly chunk_overlap: number;
}

/** An issue of the whole object, because either field may have been omitted. */
function refuseOverlap(fields: ChunkFields, context: z.RefinementCtx): void {
  if (context.issues.length > 0 || advances(fields)) return;
  context.addIssue({ code: 'custom', message: 'an object whose chunk_overlap is less than its chunk_size' });
}

function isLanguage(language: string): boolean {
  try {
    return language.length <= maxLanguage && Intl.getCanonicalLocales(language).length === 1;
  } catch {
    return false;
  }
}
