import { setImmediate } from 'node:timers/promises';
import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { CallEvent } from '../model.ts';
import type { StoredEvent } from '../store/event-store.ts';

/** Reading more bytes than these takes longer than a turn of the event loop should. */
const largeBody = 64 * 1024;

/** Bytes that were readable when they arrived are so still, unless somebody or a broken disk has changed them. */
export function readStored({ body, headers, receivedAt }: StoredEvent): Reading {
  return readBytes(body, headers, receivedAt);
}

/**
 * Further readings of an event: each handler gets one of its own, so that what one does to it, its siblings don't see. Of
 * large bodies each has a turn of the event loop to itself: deliveries wait meanwhile.
 */
export class Readings {
  /** The turn that the last large body has. */
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
