import { setImmediate } from 'node:timers/promises';
import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { OwnEvent } from '../handling.ts';
import { type CrashCounts, mayBePoison } from '../store/claims.ts';
import type { StoredEvent } from '../store/event-store.ts';

/** Reading a larger body takes longer than a turn of the event loop should. */
const largeBody = 64 * 1024;

/** Reads stored events: those with a large body one at a time, so that deliveries are taken in between. */
export class Readings {
  /** The last large body to be read. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Reads a stored event. That fails only if somebody, or a broken disk, has changed its bytes since they arrived. What
   * may be poison doesn't wait for others: it would be blamed if one of them killed the process. An event that is no
   * longer wanted at its turn is not read.
   */
  read(stored: StoredEvent & CrashCounts): Reading | Promise<Reading>;
  read(
    stored: StoredEvent & CrashCounts,
    isWanted: () => boolean,
  ): Reading | undefined | Promise<Reading | undefined>;
  read(
    stored: StoredEvent & CrashCounts,
    isWanted = () => true,
  ): Reading | undefined | Promise<Reading | undefined> {
    if (stored.body.byteLength <= largeBody || mayBePoison(stored)) return readStored(stored);
    const reading = this.#last
      .then(() => setImmediate())
      .then(() => (isWanted() ? readStored(stored) : undefined));
    this.#last = reading.catch(() => {});
    return reading;
  }

  /** Reads an event for one handler, so that no handler sees what a sibling does to the event. */
  own(stored: StoredEvent & CrashCounts): OwnEvent | Promise<OwnEvent> {
    const reading = this.read(stored);
    return reading instanceof Promise ? reading.then(ownEvent) : ownEvent(reading);
  }
}

function readStored({ body, headers, receivedAt }: StoredEvent): Reading | Promise<Reading> {
  return readBytes(body, headers, receivedAt);
}

function ownEvent(reading: Reading): OwnEvent {
  return reading.ok ? reading.event : { unreadable: reading.reason };
}
