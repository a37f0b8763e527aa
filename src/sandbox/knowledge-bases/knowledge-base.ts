import { z } from 'zod';

/** How new material is cut (platform document, ChunkingStrategy). */
const chunkingStrategies = ['fixed_size', 'semantic', 'sentence', 'paragraph', 'recursive'] as const;

/** The document says that there are five, in an order, but doesn't name them: these stand for their names. */
const vectorBackends = ['vector_db_1', 'vector_db_2', 'vector_db_3', 'vector_db_4', 'vector_db_5'] as const;

/** Platform document, EmbeddingModelType. */
const embeddingModels = ['text-embedding-3-small', 'text-embedding-3-large'] as const;

const statuses = ['processing', 'completed', 'failed'] as const;

const text = z.string('text');
const name = z.string('text').min(1, 'text that is not empty');
const textOrNull = z.string('text or null').nullable();
const count = z.int('a whole number from 0').min(0, 'a whole number from 0');
const time = z.iso.datetime('a time in ISO 8601, such as 2026-01-01T00:00:00.000Z');

/**
 * A knowledge base in a seed: the fields of the platform's document with its defaults. A knowledge base without
 * `user_id` belongs to every user of its organization. The default of the times is the time of the seeding.
 *
 * @example { "id": "kb_1", "organization_id": "org_1", "name": "Handbook" }
 */
export const knowledgeBaseSeedSchema = z.strictObject({
  id: name,
  name,
  description: textOrNull.default(null),
  document_language: text.default('en'),
  document_count: count.default(0),
  chunking_strategy: z
    .enum(chunkingStrategies, `one of ${chunkingStrategies.join(', ')}`)
    .default('recursive'),
  vector_backend: z.enum(vectorBackends, `one of ${vectorBackends.join(', ')}`).default('vector_db_1'),
  embedding_model: z
    .enum(embeddingModels, `one of ${embeddingModels.join(', ')}`)
    .default('text-embedding-3-small'),
  chunk_size: count.default(512),
  chunk_overlap: count.default(50),
  assistant_persona: textOrNull.default(null),
  status: z
    .enum(statuses, `one of ${statuses.join(', ')}, or null`)
    .nullable()
    .default(null),
  workspace_id: textOrNull.default(null),
  organization_id: name,
  user_id: textOrNull.default(null),
  created_at: time.optional(),
  updated_at: time.optional(),
});

/** A knowledge base of a seed, with its defaults filled in. */
export type KnowledgeBaseSeed = z.output<typeof knowledgeBaseSeedSchema>;

/** A knowledge base as the platform answers it: every field is there (platform document, KnowledgeBase). */
export type KnowledgeBase = KnowledgeBaseSeed & {
  /** ISO 8601 with milliseconds and `Z`. */
  readonly created_at: string;
  readonly updated_at: string;
};
