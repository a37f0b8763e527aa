import { setImmediate } from 'node:timers/promises';
import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { CallEvent } from '../model.ts';
import type { StoredEvent } from '../store/event-store.ts';

/** Reading a larger body takes longer than a turn of the event loop should. */
const largeBody = 64 * 1024;

/** Reads a stored event. That fails only if somebody, or a broken disk, has changed its bytes since they arrived. */
export function readStored({ body, headers, receivedAt }: StoredEvent): Reading {
  return readBytes(body, headers, receivedAt);
}

/**
 * Reads an event again for each further handler, so that no handler sees what a sibling does to the event. Each large
 * body is read in a turn of the event loop of its own, so that deliveries are taken in between.
 */
export class Readings {
  /** The turn in which the last large body is read. */
  #lastTurn: Promise<unknown> = Promise.resolve();

  another(stored: StoredEvent, event: CallEvent): CallEvent | Promise<CallEvent> {
    const read = (): CallEvent => {
      const reading = readStored(stored);
      return reading.ok ? reading.event : event;
    };
    if (stored.body.byteLength <= largeBody) return read();
    this.#lastTurn = this.#lastTurn.then(() => setImmediate());
    return this.#lastTurn.then(read);
  }
}
