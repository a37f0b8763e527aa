import { setImmediate } from 'node:timers';
import type { Clock } from '../../../kit/clock.ts';
import type { EventRecord } from '../../event-record.ts';
import type { EventToRecord, Recorded } from './event-row.ts';

/** How many events are recorded together at the most, and how many bytes: the next ones wait for them. */
const groupEvents = 256;
const groupBytes = 4 * 1024 * 1024;
/** Two groups keep the database busy while the answer to one of them is on its way. */
const maxGroups = 2;
/** How many events may wait: a database that falls behind must not take the process's memory. */
const maxEvents = 16_384;
const maxBytes = 48 * 1024 * 1024;
/** How long a delivery waits for its write, in milliseconds: its sender waits for one second in all. */
const recordTimeout = 700;

interface WaitingEvent extends EventToRecord {
  readonly bytes: number;
  /** Called once, also if nobody waits any more: what was written has an effect all the same. */
  readonly onRecorded: (recorded: Recorded) => void;
  readonly onFailed: (error: unknown) => void;
}

/** What the queue needs of the store. */
export interface RecordQueueParts {
  readonly clock: Clock;
  /** Records events that each have one identity. */
  readonly recordGroup: (events: readonly EventToRecord[]) => Promise<readonly Recorded[]>;
  /** Records an event by itself. */
  readonly recordOne: (event: EventToRecord) => Promise<Recorded>;
  /** Whether the database has refused what it was given, so that the other events of the group can still be recorded. */
  readonly isRefused: (error: unknown) => boolean;
}

/** What became of an event: `written` also rejects when that takes too long, and `recorded` does not. */
export interface InQueue {
  readonly written: Promise<Recorded>;
  readonly recorded: Promise<Recorded | undefined>;
}

/**
 * Records the deliveries that come together as one group, with two groups in flight at the most. A delivery that comes alone
 * waits for no others.
 */
export class RecordQueue {
  readonly #parts: RecordQueueParts;
  #waiting: WaitingEvent[] = [];
  #bytes = 0;
  #count = 0;
  #inFlight = 0;
  #isScheduled = false;
  #paused: Promise<unknown> | undefined;
  #onIdle: (() => void) | undefined;
  /** The calls of the events in flight, and how many of each. */
  readonly #calls = new Map<string, number>();

  constructor(parts: RecordQueueParts) {
    this.#parts = parts;
  }

  get isOverloaded(): boolean {
    return this.#count >= maxEvents || this.#bytes >= maxBytes;
  }

  /** How many groups are in flight. */
  get groupsInFlight(): number {
    return this.#inFlight;
  }

  add(record: EventRecord, mayClaim: boolean): InQueue {
    if (this.isOverloaded) {
      const written = Promise.reject(new Error('too many deliveries wait for the database'));
      return { written, recorded: Promise.resolve(undefined) };
    }
    const { promise: recorded, resolve, reject } = Promise.withResolvers<Recorded>();
    const bytes = record.body.byteLength;
    this.#count += 1;
    this.#bytes += bytes;
    const left = () => {
      this.#count -= 1;
      this.#bytes -= bytes;
    };
    recorded.then(left, left);
    this.#waiting.push({ record, mayClaim, bytes, onRecorded: resolve, onFailed: reject });
    this.#schedule();
    return { written: this.#inTime(recorded), recorded: recorded.catch(() => undefined) };
  }

  /** Does something while no group is in flight. What comes meanwhile waits. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#paused;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#paused = promise;
    await before;
    if (this.#inFlight > 0) await new Promise<void>((onIdle) => (this.#onIdle = onIdle));
    try {
      return await work();
    } finally {
      resolve();
      if (this.#paused === promise) this.#paused = undefined;
      this.#send();
    }
  }

  #inTime(recorded: Promise<Recorded>): Promise<Recorded> {
    return new Promise((resolve, reject) => {
      const cancel = this.#parts.clock.after(recordTimeout, () =>
        reject(new Error(`the database has not answered within ${recordTimeout} ms`)),
      );
      recorded.then(resolve, reject).finally(cancel);
    });
  }

  /** All deliveries of one turn of the event loop go together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    while (!this.#paused && this.#inFlight < maxGroups && this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#groupSize());
      this.#inFlight += 1;
      void this.#write(group).finally(() => {
        this.#inFlight -= 1;
        if (this.#inFlight === 0) this.#onIdle?.();
        this.#send();
      });
    }
  }

  #groupSize(): number {
    let [count, bytes] = [0, 0];
    for (const event of this.#waiting) {
      const isAlone = event.record.identities.length !== 1;
      bytes += event.bytes;
      if (count === groupEvents || (count > 0 && (isAlone || bytes > groupBytes))) break;
      count += 1;
      if (isAlone) break;
    }
    return count;
  }

  async #write(group: readonly WaitingEvent[]): Promise<void> {
    const events = this.#claimable(group);
    try {
      const isAlone = group.some(({ record }) => record.identities.length !== 1);
      const recorded = isAlone
        ? await Promise.all(events.map(this.#parts.recordOne))
        : await this.#parts.recordGroup(events);
      for (const [place, event] of group.entries())
        event.onRecorded(recorded[place] ?? { sequence: undefined, isClaimed: false });
    } catch (error) {
      if (group.length > 1 && this.#parts.isRefused(error))
        for (const event of group) await this.#write([event]);
      else for (const event of group) event.onFailed(error);
    } finally {
      this.#leave(events);
    }
  }

  /**
   * The events of a group, without a claim on those whose call has an event in the other group: the answers to the two groups
   * may come in either order, and the later event must not be handled first.
   */
  #claimable(group: readonly WaitingEvent[]): readonly EventToRecord[] {
    const events = group.map(({ record, mayClaim }) => ({
      record,
      mayClaim: mayClaim && !this.#calls.has(record.callId ?? ''),
    }));
    for (const { record } of events)
      if (record.callId !== undefined)
        this.#calls.set(record.callId, (this.#calls.get(record.callId) ?? 0) + 1);
    return events;
  }

  #leave(events: readonly EventToRecord[]): void {
    for (const { record } of events) {
      const count = this.#calls.get(record.callId ?? '') ?? 0;
      if (record.callId === undefined) continue;
      if (count > 1) this.#calls.set(record.callId, count - 1);
      else this.#calls.delete(record.callId);
    }
  }
}
