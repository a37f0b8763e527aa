import { type Drift, type DriftKind, driftOf } from '../events/drift.ts';
import type { Clock } from '../kit/clock.ts';
import type { CallEvent } from '../events/model.ts';
import type { DriftRow, DriftStore } from '../store/drift-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { SeenCounts } from './seen-counts.ts';

/** A difference between what the platform sends and what is documented, and how often it was seen. */
export interface DriftFinding {
  readonly eventName: string;
  /** The dotted path in the body, with `[]` for the items of an array; empty for an unknown event. */
  readonly path: string;
  readonly kind: DriftKind;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** The number of events that have it. */
  readonly count: number;
}

interface DriftParts {
  readonly store: DriftStore;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/**
 * Counts how events differ from their documentation, so that users learn of a change early. No answer waits for this:
 * events are compared after the answer.
 */
export class DriftLedger {
  readonly #parts: DriftParts;
  readonly #counts: SeenCounts<DriftRow>;

  /** @internal */
  constructor(parts: DriftParts) {
    this.#parts = parts;
    const { clock, telemetry, store } = parts;
    this.#counts = new SeenCounts<DriftRow>({
      clock,
      keyOf,
      write: async (rows) => {
        for (const seen of await store.add(rows)) telemetry.report('drift_seen', { ...seen });
      },
      onFailed: (cause) => telemetry.report('drift_failed', { cause }),
    });
  }

  /**
   * Lists all differences, at most 1,000, the newest first; never a value from a body.
   *
   * @throws RingbackError `receiver_not_started`
   * @example for (const { eventName, path, kind, count } of await receiver.drift.list()) console.log(kind, path);
   */
  async list(): Promise<readonly DriftFinding[]> {
    this.#parts.requireStarted('drift.list()');
    await this.#counts.write();
    const rows = await this.#parts.store.list();
    return rows.map((row) => ({
      ...row,
      firstSeenAt: new Date(row.firstSeenAt),
      lastSeenAt: new Date(row.lastSeenAt),
    }));
  }

  /** @internal Compares an answered event, before its handlers get it, because they may change it. */
  observe(event: CallEvent, receivedAt: number): void {
    for (const drift of driftOf(event))
      this.#counts.add({ ...drift, firstSeenAt: receivedAt, lastSeenAt: receivedAt, count: 1 });
  }

  /** @internal Writes the remaining counts. */
  stop(): Promise<void> {
    return this.#counts.stop();
  }
}

/** Unambiguous: none of the three contains a space. */
function keyOf({ eventName, path, kind }: Drift): string {
  return `${eventName} ${path} ${kind}`;
}
