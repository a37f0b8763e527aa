import { Refusal, refusal } from '../errors/refusals.ts';
import type { Delivery } from '../events/model.ts';

/** Checks method, media type, encoding and declared length before the body is read. */
export function accept({ method, headers }: Delivery, maxBytes: number): void {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length = 0 } = headers;
  if (method !== 'POST') throw new Refusal('method', 'method_not_post');
  if (type !== undefined && type !== 'application/json' && !isJson(String(type)))
    throw refusal('media_type', 'media_type_not_json');
  // The signature covers the bytes that the platform sends, which are not compressed.
  if (encoding !== undefined && isEncoded(String(encoding))) throw refusal('media_type', 'content_encoded');
  if (Number(length) > maxBytes) throw refusal('too_large', 'declared_length', { limit: maxBytes });
}

/**
 * An empty media type is accepted like a missing one: verifying and reading will show what the bytes are. If the header
 * came twice, for example once from the subscription's own headers, node:http gives the first value, and a Request
 * both, as a list.
 */
function isJson(type: string): boolean {
  const mediaType = type.split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';
  return (
    mediaType === '' ||
    mediaType === 'application/json' ||
    mediaType === 'text/json' ||
    mediaType.endsWith('+json')
  );
}

/** An empty list means no coding, like a missing header (RFC 9110, 5.6.1). */
function isEncoded(encoding: string): boolean {
  return encoding.split(',').some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()));
}
