import type { CallEvent, EventSource, Headers } from './model.ts';
import type { BodyDecoder, Decoded, Unreadable } from './decoding.ts';
import { readEvent } from './read-event.ts';

/** The result of reading raw bytes: an event, or the reason why there is none. */
export type Reading =
  | {
      readonly ok: true;
      readonly event: CallEvent;
      readonly traceIdDiffers: boolean;
    }
  | { readonly ok: false; readonly reason: Unreadable };

/** The raw bytes of a delivery, and what else is known about it. */
export interface Bytes {
  readonly body: Uint8Array;
  readonly headers: Headers;
  readonly receivedAt: number;
  /** @default 'delivered' */
  readonly source?: EventSource | undefined;
}

/**
 * Reads raw bytes as an event: when they arrive, and again, with the same result, when they are dispatched. Returns a
 * promise for a large body, which takes several turns of the event loop.
 */
export function readBytes(decoder: BodyDecoder, bytes: Bytes): Reading | Promise<Reading> {
  const decoded = decoder.decode(bytes.body);
  return decoded instanceof Promise
    ? decoded.then((large) => readingOf(large, bytes, true))
    : readingOf(decoded, bytes, false);
}

function readingOf(
  decoded: Decoded,
  { body, headers, receivedAt, source }: Bytes,
  isLarge: boolean,
): Reading {
  if (!decoded.ok) return decoded;
  const readable = { fields: decoded.value, bytes: body, headers, receivedAt, isLarge, source };
  const { event, traceIdDiffers } = readEvent(readable);
  return { ok: true, event, traceIdDiffers };
}
