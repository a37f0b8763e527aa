import type { BodyDecoder } from '../events/body-decoder.ts';
import { type Bytes, type Reading, readBytes } from '../events/read-bytes.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** Reads bytes as JSON and as an event, leniently. Unreadable bytes are not refused: a retry would send the same. */
export function decode(decoder: BodyDecoder, bytes: Bytes, telemetry: Telemetry): Reading | Promise<Reading> {
  const reading = readBytes(decoder, bytes);
  return reading instanceof Promise
    ? reading.then((large) => compared(large, telemetry))
    : compared(reading, telemetry);
}

function compared(reading: Reading, telemetry: Telemetry): Reading {
  if (reading.ok && reading.traceIdDiffers) {
    telemetry.report('trace_id_differs', { traceId: reading.event.traceId });
  }
  return reading;
}
