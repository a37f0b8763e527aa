import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { Headers } from '../model.ts';
import type { Telemetry } from '../telemetry.ts';

/** Bytes → JSON → event, leniently. What can't be read isn't refused: a retry could not mend it. */
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
