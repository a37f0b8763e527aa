import type { BodyDecoder } from '../events/body-decoder.ts';
import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { OwnEvent } from './handling.ts';
import type { StoredEvent } from '../store/event-store.ts';

/**
 * Reads a stored event. That fails only if its bytes have changed since they arrived, through a broken disk or by
 * somebody's hand, or if the limits of bodies are lower than then.
 */
export function readStored(decoder: BodyDecoder, stored: StoredEvent): Reading | Promise<Reading> {
  return readBytes(decoder, stored);
}

/** Reads an event for one handler, so that no handler sees what a sibling does to the event. */
export function readOwn(decoder: BodyDecoder, stored: StoredEvent): OwnEvent | Promise<OwnEvent> {
  const reading = readStored(decoder, stored);
  return reading instanceof Promise ? reading.then(ownEvent) : ownEvent(reading);
}

function ownEvent(reading: Reading): OwnEvent {
  return reading.ok ? reading.event : { unreadable: reading.reason };
}
