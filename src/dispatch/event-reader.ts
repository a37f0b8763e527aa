import type { BodyDecoder } from '../events/decoding.ts';
import { type Reading, readBytes } from '../events/read-bytes.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { type ClaimedEvent, type CrashCounts, mayBePoison } from '../store/claims.ts';
import type { StoredEvent } from '../store/event-store.ts';
import { diedReading, hasDiedReading } from './conclude.ts';
import type { Loop } from './loop.ts';
import type { Conclusion, OwnEvent } from './run.ts';
import { reportUnread } from './run-log.ts';
import type { Settler } from './settler.ts';

export interface EventReaderParts {
  readonly telemetry: Telemetry;
  readonly settler: Settler;
  readonly decoder: BodyDecoder;
  /** Resolves when an event that may be poison may be read, to a function to call after reading it. */
  readonly mayRead: (crashes: CrashCounts) => Promise<(() => void) | undefined>;
  readonly loop: Loop;
}

/** Reads events that were claimed from the inbox: their handlers depend on what is in their bytes. */
export class EventReader {
  readonly #parts: EventReaderParts;

  constructor(parts: EventReaderParts) {
    this.#parts = parts;
  }

  /**
   * Returns the event, or a promise if reading takes time. Undefined if nothing was read: too many processes died while
   * they read it, and it was given up, or the receiver stops.
   */
  read(stored: ClaimedEvent): OwnEvent | undefined | Promise<OwnEvent | undefined> {
    return mayBePoison(stored) ? this.#readAlone(stored) : readOwn(this.#parts.decoder, stored);
  }

  /** Makes a dead letter of an event that can't be read. Others that were claimed with it go on. */
  giveUp(stored: ClaimedEvent, conclusion: Conclusion): undefined {
    const { telemetry, loop, settler } = this.#parts;
    reportUnread(telemetry, stored, conclusion);
    loop.follow(settler.settleUnread(stored, conclusion));
  }

  /** Reads an event over which a process has died, unless too many died while they read it. */
  async #readAlone(stored: ClaimedEvent): Promise<OwnEvent | undefined> {
    const { settler, decoder, mayRead } = this.#parts;
    if (hasDiedReading(stored)) return this.giveUp(stored, diedReading(stored, 0));
    const end = await mayRead(stored);
    if (!end) return undefined;
    try {
      const read = await settler.readNoted(stored, () => readOwn(decoder, stored));
      return read?.value;
    } finally {
      end();
    }
  }
}

/**
 * Reads a separate copy of an event for one handler, so that no handler sees what a sibling does to it. Fails only if
 * the bytes have changed since they arrived (a broken disk, an edit by hand), or if `limits` were lowered since.
 */
export function readOwn(decoder: BodyDecoder, stored: StoredEvent): OwnEvent | Promise<OwnEvent> {
  const reading = readBytes(decoder, stored);
  return reading instanceof Promise ? reading.then(ownEvent) : ownEvent(reading);
}

function ownEvent(reading: Reading): OwnEvent {
  return reading.ok ? reading.event : { unreadable: reading.reason };
}
