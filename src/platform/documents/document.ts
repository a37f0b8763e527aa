import { z } from 'zod';
import type { OpenEnumeration } from '../requests/shapes.ts';

/**
 * A document of a knowledge base. The platform's document has only its id and the status `completed`: every other field
 * is assumed and may be missing. Unlisted fields are kept unchanged.
 */
export interface KnowledgeDocument {
  readonly document_id: string;
  /** Searches find it once it is `completed` (platform document, Ingestion). The other values are assumed. */
  readonly status?: OpenEnumeration<'queued' | 'processing' | 'completed' | 'failed'> | null | undefined;
  readonly knowledge_base_id?: string | null | undefined;
  /** Only for a file. */
  readonly name?: string | null | undefined;
  /** For example whether it is a file or a website. */
  readonly source?: unknown;
  /** The pages of a website. */
  readonly urls?: unknown;
  /** In bytes. */
  readonly size?: number | null | undefined;
  /** Why it failed, mostly `{ code, message }`. */
  readonly error?: unknown;
  readonly chunk_count?: number | null | undefined;
  /** ISO 8601. */
  readonly created_at?: string | null | undefined;
  /** ISO 8601. */
  readonly updated_at?: string | null | undefined;
  readonly [field: string]: unknown;
}

export const documentShape = z.looseObject({
  document_id: z.string(),
  status: z.string().nullish(),
  knowledge_base_id: z.string().nullish(),
  name: z.string().nullish(),
  size: z.number().nullish(),
  chunk_count: z.number().nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
}) satisfies z.ZodType<KnowledgeDocument>;
