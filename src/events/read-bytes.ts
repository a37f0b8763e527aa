import { createHash } from 'node:crypto';
import type { CallEvent, Headers } from '../model.ts';
import { type Unreadable, decodeBody } from './decoding.ts';
import { readEvent } from './reading.ts';

/** What became of the raw bytes: an event, or the reason why there is none. */
export type Reading =
  | {
      readonly ok: true;
      readonly event: CallEvent;
      readonly traceIdDiffers: boolean;
      readonly digest: string;
    }
  | { readonly ok: false; readonly reason: Unreadable; readonly digest: string };

/** Reads raw bytes as an event: when they arrive, and again, to the same event, when they are dispatched. */
export function readBytes(bytes: Uint8Array, headers: Headers, receivedAt: number): Reading {
  const digest = createHash('sha256').update(bytes).digest('hex');
  const decoded = decodeBody(bytes);
  if (!decoded.ok) return { ok: false, reason: decoded.reason, digest };
  return { ok: true, digest, ...readEvent({ body: decoded.value, headers, digest, receivedAt }) };
}
