import { Refusal, refusal } from '../refusals.ts';
import type { Delivery } from '../model.ts';

/** Method, media type and declared length: what can be told before anything is read. */
export function accept({ method, headers }: Delivery, mostBytes: number): void {
  if (method !== 'POST') throw new Refusal('method', 'method_not_post');
  if (!isJson(headers['content-type'])) throw refusal('media_type', 'media_type_not_json');
  // The signature is over the bytes of the platform; a compressed body is not what it signs.
  if (isEncoded(headers['content-encoding'])) throw refusal('media_type', 'content_encoded');
  if (Number(headers['content-length'] ?? 0) > mostBytes)
    throw refusal('too_large', 'declared_length', { limit: mostBytes });
}

/** A missing media type is let pass: what the bytes are, the signature and the reading will tell. */
function isJson(value: Delivery['headers'][string]): boolean {
  if (value === undefined || value === 'application/json') return true;
  const mediaType = String(value).split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return mediaType === 'application/json' || mediaType === 'text/json' || mediaType.endsWith('+json');
}

function isEncoded(value: Delivery['headers'][string]): boolean {
  return value !== undefined && String(value).trim().toLowerCase() !== 'identity';
}
