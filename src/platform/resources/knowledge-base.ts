import { z } from 'zod';
import { type OpenEnumeration, listOf, unset, withDefault } from '../requests/shapes.ts';

type ChunkingStrategy = OpenEnumeration<'fixed_size' | 'semantic' | 'sentence' | 'paragraph' | 'recursive'>;
type EmbeddingModel = OpenEnumeration<'text-embedding-3-small' | 'text-embedding-3-large'>;

/**
 * The fields of a knowledge base in requests. The platform's document doesn't list them: they are those of the answer
 * that the platform doesn't fill in itself.
 */
export interface KnowledgeBaseFields {
  readonly name: string;
  readonly description?: string | null | undefined;
  /** The language of most of the material. @default 'en' */
  readonly document_language?: string | undefined;
  /** How new material is split into chunks. @default 'recursive' */
  readonly chunking_strategy?: ChunkingStrategy | undefined;
  readonly vector_backend?: string | undefined;
  /** Fixed when the knowledge base is created. @default 'text-embedding-3-large' */
  readonly embedding_model?: EmbeddingModel | undefined;
  /** The size of new chunks. @default 512 */
  readonly chunk_size?: number | undefined;
  /** The overlap of neighbouring chunks. @default 50 */
  readonly chunk_overlap?: number | undefined;
  readonly assistant_persona?: string | null | undefined;
  readonly workspace_id?: string | null | undefined;
}

/**
 * A knowledge base (platform document, KnowledgeBase). Fields that the answer omits, or has as null where the document
 * doesn't allow null, have the document's defaults. Unlisted fields are kept unchanged.
 */
export interface KnowledgeBase {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  /** The language of most of the material. @default 'en' */
  readonly document_language: string;
  /** The number of stored documents. @default 0 */
  readonly document_count: number;
  /** How new material is split into chunks. @default 'recursive' */
  readonly chunking_strategy: ChunkingStrategy;
  /** Undefined when the answer omits it: the document mentions a default, but not which. */
  readonly vector_backend?: string | undefined;
  /**
   * Undefined when the answer omits it: the default depends on the age of the knowledge base, and searching with the
   * wrong model finds nothing.
   */
  readonly embedding_model?: EmbeddingModel | undefined;
  /** The size of new chunks. @default 512 */
  readonly chunk_size: number;
  /** The overlap of neighbouring chunks. @default 50 */
  readonly chunk_overlap: number;
  readonly assistant_persona: string | null;
  /** The combined status of all documents. */
  readonly status: OpenEnumeration<'processing' | 'completed' | 'failed'> | null;
  readonly workspace_id: string | null;
  readonly organization_id: string | null;
  readonly user_id: string | null;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  /** ISO 8601, UTC. */
  readonly updated_at: string;
  readonly [field: string]: unknown;
}

const textOrNull = withDefault(z.string(), null);

export const knowledgeBaseShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: textOrNull,
  document_language: withDefault(z.string(), 'en'),
  document_count: withDefault(z.number(), 0),
  chunking_strategy: withDefault(z.string(), 'recursive'),
  vector_backend: unset(z.string()),
  embedding_model: unset(z.string()),
  chunk_size: withDefault(z.number(), 512),
  chunk_overlap: withDefault(z.number(), 50),
  assistant_persona: textOrNull,
  status: textOrNull,
  workspace_id: textOrNull,
  organization_id: textOrNull,
  user_id: textOrNull,
  created_at: z.string(),
  updated_at: z.string(),
}) satisfies z.ZodType<KnowledgeBase>;

const text = z.string('text');
const filled = text.min(1, 'text that is not empty');
const textOrNone = z.string('text or null').nullable().optional();

/** The bounds of the sizes are not in the platform's document; these exclude impossible sizes. */
export const fieldsSchema = z.strictObject({
  name: filled,
  description: textOrNone,
  document_language: filled.optional(),
  chunking_strategy: filled.optional(),
  vector_backend: filled.optional(),
  embedding_model: filled.optional(),
  chunk_size: z.int('a whole number of 1 or more').min(1, 'a whole number of 1 or more').optional(),
  chunk_overlap: z.int('a whole number of 0 or more').min(0, 'a whole number of 0 or more').optional(),
  assistant_persona: textOrNone,
  workspace_id: textOrNone,
});

/** A found piece of a document. Its fields are not in the platform's document, so each may be missing. */
export interface SearchResult {
  readonly document_id?: string | null | undefined;
  readonly document_name?: string | null | undefined;
  readonly text?: string | null | undefined;
  /** How well it answers the question. */
  readonly score?: number | null | undefined;
  readonly [field: string]: unknown;
}

/** The results in the platform's order: the best first, as far as is known. */
export interface SearchResults {
  readonly results: readonly SearchResult[];
  readonly [field: string]: unknown;
}

export const resultsShape = z.looseObject({
  results: listOf(
    z.looseObject({
      document_id: z.string().nullish(),
      document_name: z.string().nullish(),
      text: z.string().nullish(),
      score: z.number().nullish(),
    }),
  ),
}) satisfies z.ZodType<SearchResults>;
