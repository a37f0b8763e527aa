import { isObject } from '../../kit/values.ts';
import { PlatformError } from '../requests/platform-error.ts';
import { oneLine } from '../requests/redact.ts';
import type { KnowledgeDocument } from './document.ts';
import type { ReadySubmission } from './submission.ts';

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
