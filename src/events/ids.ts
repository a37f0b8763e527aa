import { hash } from 'node:crypto';
import { isStorable } from '../kit/values.ts';
import type { CallEvent, Headers } from './model.ts';

/** The longest id that is read. Ids are keys of the inbox and are logged: without a bound, a body could fill both. */
export const maxId = 512;

/**
 * Whether a text is an id. Blank texts are none, nor are texts of more than 512 UTF-16 units, or with U+0000 or half a
 * surrogate pair: see `isStorable`.
 */
export function isId(text: string): boolean {
  return text.length <= maxId && text.trim() !== '' && isStorable(text);
}

/** An id as a string, or undefined if there is none. Numbers become strings. */
export function readId(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && isId(value) ? value : undefined;
}

/** The first id among the fields with these names. */
export function idUnder(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const id = readId(fields[name]);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** The value of a header, whose name is given in lower case; the first value if there are several. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** What identifies an event, and where it was found. */
export interface TraceId extends Pick<CallEvent, 'traceId' | 'traceIdSource'> {
  /** Whether body and header have different trace ids. */
  readonly traceIdDiffers: boolean;
}

/**
 * The event's identity: the body's `traceId`, which is signed, else the header's, else the digest of the body. Values
 * that `readId` refuses are skipped. `webhook-id`, the header of Standard Webhooks, identifies a delivery rather than
 * what its body is about, so it may differ from the body's id.
 */
export function readTraceId(
  fields: Readonly<Record<string, unknown>>,
  headers: Headers,
  bytes: Uint8Array,
): TraceId {
  const inBody = readId(fields['traceId']);
  const inHeader = readId(headerOf(headers, 'x-webhook-traceid'));
  if (inBody !== undefined) {
    const traceIdDiffers = inHeader !== undefined && inHeader !== inBody;
    return { traceId: inBody, traceIdSource: 'body', traceIdDiffers };
  }
  const outside = inHeader ?? readId(headerOf(headers, 'webhook-id'));
  if (outside !== undefined) return { traceId: outside, traceIdSource: 'header', traceIdDiffers: false };
  return {
    traceId: `sha256:${hash('sha256', bytes, 'hex')}`,
    traceIdSource: 'digest',
    traceIdDiffers: false,
  };
}
