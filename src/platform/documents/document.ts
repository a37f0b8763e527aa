import { z } from 'zod';
import type { OpenEnumeration } from '../requests/shapes.ts';
import { isObject } from '../../kit/values.ts';
import { PlatformError, oneLine } from '../requests/platform-error.ts';
import type { ReadySubmission } from './submission.ts';

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

/** The timeout passed before the document was completed. */
export function notCompleted(
  operation: string,
  { document_id: id, status }: KnowledgeDocument,
): PlatformError {
  return new PlatformError(
    `${operation} should find the document ${oneLine(id)} completed, but its status was ` +
      `${typeof status === 'string' ? JSON.stringify(oneLine(status)) : 'missing'} until the timeout. ` +
      'The platform is still processing it: wait again, or set a longer timeout.',
    { operation, code: 'not_ready', status: 200 },
  );
}

/** The document has failed for good. */
export function ingestionFailed(
  operation: string,
  { document_id: id, error }: KnowledgeDocument,
): PlatformError {
  const reason = reasonIn(error);
  return new PlatformError(
    `${operation} should find the document ${oneLine(id)} completed, but it has failed` +
      `${reason === '' ? '' : `: ${reason.replace(/\.$/, '')}`}. ` +
      'Correct what was submitted, and replace the document with documents.refresh.',
    { operation, code: 'ingestion_failed', status: 200, details: error },
  );
}

/** The second half of a refresh failed: the old document is deleted, and there is no new one. */
export function notResubmitted(
  operation: string,
  documentId: string,
  by: ReadySubmission['by'],
  cause: PlatformError,
): PlatformError {
  const { status, details, requestId, retryAfter } = cause;
  return new PlatformError(
    `${operation} should replace the document ${oneLine(documentId)}, but deleted it and then failed to submit the new one, so ` +
      `searches no longer find either. ${cause.message} Submit the new one again with documents.${by}.`,
    { operation, code: 'not_resubmitted', status, details, requestId, retryAfter, cause },
  );
}

function reasonIn(error: unknown): string {
  if (!isObject(error)) return typeof error === 'string' ? oneLine(error) : '';
  const parts = [error['code'], error['message']].filter((part) => typeof part === 'string' && part !== '');
  return oneLine(parts.join(', '));
}
