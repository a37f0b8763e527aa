import { z } from 'zod';
import { type CallOptions, readCallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import type { OpenEnumeration } from '../requests/shapes.ts';
import { pathPart } from '../requests/address.ts';

/**
 * A knowledge base (platform document, KnowledgeBase). Fields that the answer leaves out have the document's defaults,
 * and fields that are not listed here are as they came.
 */
export interface KnowledgeBase {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  /** Primary language of the material. @default 'en' */
  readonly document_language: string;
  /** How many documents are stored. @default 0 */
  readonly document_count: number;
  /** Strategy for new material. @default 'recursive' */
  readonly chunking_strategy: OpenEnumeration<
    'fixed_size' | 'semantic' | 'sentence' | 'paragraph' | 'recursive'
  >;
  /** Undefined when the answer leaves it out: the document says that there is a default, but not which. */
  readonly vector_backend?: string | undefined;
  /**
   * Undefined when the answer leaves it out, and never filled in: the default differs between knowledge bases of
   * different age, and searching with the wrong model finds nothing.
   */
  readonly embedding_model?: OpenEnumeration<'text-embedding-3-small' | 'text-embedding-3-large'> | undefined;
  /** Target chunk size for new material. @default 512 */
  readonly chunk_size: number;
  /** Overlap between consecutive chunks. @default 50 */
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

const textOrNull = z
  .string()
  .nullish()
  .transform((text) => text ?? null);

const knowledgeBaseShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: textOrNull,
  document_language: z.string().default('en'),
  document_count: z.number().default(0),
  chunking_strategy: z.string().default('recursive'),
  vector_backend: z.string().optional(),
  embedding_model: z.string().optional(),
  chunk_size: z.number().default(512),
  chunk_overlap: z.number().default(50),
  assistant_persona: textOrNull,
  status: textOrNull,
  workspace_id: textOrNull,
  organization_id: textOrNull,
  user_id: textOrNull,
  created_at: z.string(),
  updated_at: z.string(),
}) satisfies z.ZodType<KnowledgeBase>;

/** Stores of documents that agents search. */
export class KnowledgeBases {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * One knowledge base (platform document, GET knowledge base).
   *
   * @throws PlatformError 404 when there is none of this id, or it is somebody else's: the platform doesn't say which
   * @example const { document_count } = await platform.knowledgeBases.get('kb_1');
   */
  async get(id: string, options: CallOptions = {}): Promise<KnowledgeBase> {
    const operation = 'knowledgeBases.get';
    const { signal } = readCallOptions(options, operation);
    const path = `/api/v1/knowledge-bases/${pathPart(id, 'id', operation)}`;
    return this.#connection.send({ operation, method: 'GET', path, signal }, knowledgeBaseShape);
  }
}
