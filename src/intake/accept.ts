import { Refusal, refusal } from '../errors/refusals.ts';
import type { Delivery } from '../events/model.ts';

/** Checks what can be checked before the body is read: method, media type and declared length. */
export function accept({ method, headers }: Delivery, maxBytes: number): void {
  if (method !== 'POST') throw new Refusal('method', 'method_not_post');
  if (!isJson(headers['content-type'])) throw refusal('media_type', 'media_type_not_json');
  // The signature covers the bytes that the platform sends, which are not compressed.
  if (isEncoded(headers['content-encoding'])) throw refusal('media_type', 'content_encoded');
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    throw refusal('too_large', 'declared_length', { limit: maxBytes });
}

/**
 * A missing media type is accepted, and so is an empty one: the signature and the reading will show what the bytes are. Of a
 * header that came twice, once from the subscription's own headers, say, node:http passes on the first value, and a Request a
 * list of both.
 */
function isJson(value: Delivery['headers'][string]): boolean {
  if (value === undefined || value === 'application/json') return true;
  const mediaType = String(value).split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';
  return (
    mediaType === '' ||
    mediaType === 'application/json' ||
    mediaType === 'text/json' ||
    mediaType.endsWith('+json')
  );
}

/** An empty list says that there is no coding, like a missing one (RFC 9110, 5.6.1). */
function isEncoded(value: Delivery['headers'][string]): boolean {
  const codings = String(value ?? '').split(',');
  return codings.some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()));
}
