import type { Clock } from '../kit/clock.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { type EventRecord, reconciledIdentity } from '../store/event-record.ts';
import type { EventStore, SeenDuplicates } from '../store/event-store.ts';
import { SeenCounts } from './seen-counts.ts';

/** Counts the duplicates of each event. Their answers don't wait for this, and cost no write. */
export class DuplicateLedger {
  readonly #counts: SeenCounts<SeenDuplicates>;

  constructor(store: Pick<EventStore, 'addDuplicates'>, telemetry: Telemetry, clock: Clock) {
    this.#counts = new SeenCounts<SeenDuplicates>({
      clock,
      keyOf: ({ identity }) => identity,
      write: (seen) => store.addDuplicates(seen),
      onFailed: (cause) => telemetry.report('duplicates_failed', { cause }),
    });
  }

  /** Counts an authentic delivery that was a duplicate. */
  observe({ identity, eventName, callId, receivedAt }: EventRecord): void {
    const reconciled = reconciledIdentity(eventName, callId);
    this.#counts.add({ identity, reconciled, count: 1, firstSeenAt: receivedAt, lastSeenAt: receivedAt });
  }

  /** Writes the remaining counts. */
  stop(): Promise<void> {
    return this.#counts.stop();
  }
}
