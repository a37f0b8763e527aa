import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { Headers } from '../model.ts';
import type { Telemetry } from '../telemetry.ts';

/** Reads bytes as JSON and as an event, leniently. Unreadable bytes are not refused: a retry would send the same. */
export function decode(
  bytes: Uint8Array,
  headers: Headers,
  receivedAt: number,
  telemetry: Telemetry,
): Reading {
  const reading = readBytes(bytes, headers, receivedAt);
  if (reading.ok && reading.traceIdDiffers) {
    telemetry.tell('trace_id_differs', { traceId: reading.event.traceId });
  }
  return reading;
}
