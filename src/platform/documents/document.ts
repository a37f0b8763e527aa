import { z } from 'zod';
import type { OpenEnumeration } from '../requests/shapes.ts';

/**
 * A document of a knowledge base. Only its id, and that its status can be `completed`, are in the platform's document:
 * every other field is assumed and may be missing. Fields that are not listed here are as they came.
 */
export interface KnowledgeDocument {
  readonly document_id: string;
  /** It is found once it is `completed` (platform document, Ingestion). The other values are assumed. */
  readonly status?: OpenEnumeration<'queued' | 'processing' | 'completed' | 'failed'> | null | undefined;
  readonly knowledge_base_id?: string | null | undefined;
  /** Of a file. */
  readonly name?: string | null | undefined;
  /** Whether it is a file or a website, say. */
  readonly source?: unknown;
  /** Of a website, the pages. */
  readonly urls?: unknown;
  /** In bytes. */
  readonly size?: number | null | undefined;
  /** Why it has failed, mostly `{ code, message }`. */
  readonly error?: unknown;
  readonly chunk_count?: number | null | undefined;
  /** ISO 8601. */
  readonly created_at?: string | null | undefined;
  /** ISO 8601. */
  readonly updated_at?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** The shape in which an answered document is read. */
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
