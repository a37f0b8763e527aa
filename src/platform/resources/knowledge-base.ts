import { z } from 'zod';
import { type OpenEnumeration, listOf, unset, withDefault } from '../requests/shapes.ts';

type ChunkingStrategy = OpenEnumeration<'fixed_size' | 'semantic' | 'sentence' | 'paragraph' | 'recursive'>;
type EmbeddingModel = OpenEnumeration<'text-embedding-3-small' | 'text-embedding-3-large'>;

/**
 * What a knowledge base can be given. Which of the fields a request may have is not in the platform's document: they are
 * those of the answer that the platform doesn't fill in itself.
 */
export interface KnowledgeBaseFields {
  readonly name: string;
  readonly description?: string | null | undefined;
  /** The language that most of the material is in. @default 'en' */
  readonly document_language?: string | undefined;
  /** How new material is cut. @default 'recursive' */
  readonly chunking_strategy?: ChunkingStrategy | undefined;
  readonly vector_backend?: string | undefined;
  /** Fixed when the knowledge base is created. @default 'text-embedding-3-large' */
  readonly embedding_model?: EmbeddingModel | undefined;
  /** How large the chunks of new material should be. @default 512 */
  readonly chunk_size?: number | undefined;
  /** How much a chunk shares with the next. @default 50 */
  readonly chunk_overlap?: number | undefined;
  readonly assistant_persona?: string | null | undefined;
  readonly workspace_id?: string | null | undefined;
}

/**
 * A knowledge base (platform document, KnowledgeBase). Fields that the answer leaves out, or has as null where the document
 * has no null, have the document's defaults, and fields that are not listed here are as they came.
 */
export interface KnowledgeBase {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  /** The language that most of the material is in. @default 'en' */
  readonly document_language: string;
  /** How many documents are stored. @default 0 */
  readonly document_count: number;
  /** How new material is cut. @default 'recursive' */
  readonly chunking_strategy: ChunkingStrategy;
  /** Undefined when the answer leaves it out: the document says that there is a default, but not which. */
  readonly vector_backend?: string | undefined;
  /**
   * Undefined when the answer leaves it out, and never filled in: the default differs between knowledge bases of
   * different age, and searching with the wrong model finds nothing.
   */
  readonly embedding_model?: EmbeddingModel | undefined;
  /** How large the chunks of new material should be. @default 512 */
  readonly chunk_size: number;
  /** How much a chunk shares with the next. @default 50 */
  readonly chunk_overlap: number;
  readonly assistant_persona: string | null;
  /** The status of all documents together. */
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

/** The shape in which an answered knowledge base is read. */
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

/** The bounds of the sizes are not in the platform's document; these exclude what can't be a size. */
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

/** A piece of a document that was found. Its fields are not in the platform's document, so each may be missing. */
export interface SearchResult {
  readonly document_id?: string | null | undefined;
  readonly document_name?: string | null | undefined;
  readonly text?: string | null | undefined;
  /** How well it answers the question. */
  readonly score?: number | null | undefined;
  readonly [field: string]: unknown;
}

/** What was found, in the platform's order: the best first, as far as is known. */
export interface SearchResults {
  readonly results: readonly SearchResult[];
  readonly [field: string]: unknown;
}

/** The shape in which the answer to a search is read. */
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
