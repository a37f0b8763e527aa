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
      readonly digest: Digest;
    }
  | { readonly ok: false; readonly reason: Unreadable; readonly digest: Digest };

/** Returns the SHA-256 of the raw bytes, in hex. A function, because an event with a trace id needs no digest. */
export type Digest = () => string;

/** Reads raw bytes as an event: when they arrive, and again, with the same result, when they are dispatched. */
export function readBytes(bytes: Uint8Array, headers: Headers, receivedAt: number): Reading {
  const digest = digestOf(bytes);
  const decoded = decodeBody(bytes);
  if (!decoded.ok) return { ok: false, reason: decoded.reason, digest };
  const { event, traceIdDiffers } = readEvent({ body: decoded.value, headers, digest, receivedAt });
  return { ok: true, event, traceIdDiffers, digest };
}

/** Computed at most once, and not before it is asked for. */
function digestOf(bytes: Uint8Array): Digest {
  let digest: string | undefined;
  return () => (digest ??= createHash('sha256').update(bytes).digest('hex'));
}
