/** The errors of documents that can't be found by searches. */
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
      `${typeof status === 'string' ? JSON.stringify(oneLine(status)) : 'missing'} to the last. ` +
      'The platform goes on with it: wait again, or allow more timeout.',
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
      'Correct what was submitted, and take documents.refresh to put it in its place.',
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
    `${operation} has deleted the document ${oneLine(documentId)}, but the submission of the one that should take its place has ` +
      `failed: searches find the old one no longer. ${cause.message} Submit it again with documents.${by}.`,
    { operation, code: 'not_resubmitted', status, details, requestId, retryAfter, cause },
  );
}

function reasonIn(error: unknown): string {
  if (!isObject(error)) return typeof error === 'string' ? oneLine(error) : '';
  const parts = [error['code'], error['message']].filter((part) => typeof part === 'string' && part !== '');
  return oneLine(parts.join(', '));
}
