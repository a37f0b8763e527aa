import { setImmediate as turn } from 'node:timers/promises';
import { messageOf } from '../kit/error-text.ts';
import { type Drift, type DriftKind, driftOf } from '../events/drift.ts';
import type { Clock } from '../kit/clock.ts';
import type { CallEvent } from '../events/model.ts';
import type { DriftRow, DriftStore } from '../store/drift-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** How long counts are gathered before a write, in milliseconds: a write per event would double its cost. */
const writePause = 5_000;
/** How many differences are counted between two writes: the table holds no more in all. */
const maxCounted = 1_000;

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

export interface DriftParts {
  readonly store: DriftStore;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/**
 * Counts how events differ from their documentation, so that users learn of a change early. No answer waits for this:
 * events are compared after the answer, and counts are written in groups. If the process is killed, the counts of the
 * last seconds are lost.
 */
export class DriftLedger {
  readonly #parts: DriftParts;
  #counted = new Map<string, DriftRow>();
  #cancelWrite: (() => void) | undefined;
  #isStopped = false;

  /** @internal */
  constructor(parts: DriftParts) {
    this.#parts = parts;
  }

  /**
   * Lists all differences, at most 1,000, the newest first; never a value from a body.
   *
   * @example for (const { eventName, path, kind, count } of await receiver.drift.list()) console.log(kind, path);
   */
  async list(): Promise<readonly DriftFinding[]> {
    this.#parts.requireStarted('drift.list()');
    await this.#write();
    const rows = await this.#parts.store.list();
    return rows.map((row) => ({
      ...row,
      firstSeenAt: new Date(row.firstSeenAt),
      lastSeenAt: new Date(row.lastSeenAt),
    }));
  }

  /** @internal Compares an answered event, before its handlers get it, because they may change it. */
  observe(event: CallEvent, receivedAt: number): void {
    for (const drift of driftOf(event)) {
      this.#count({ ...drift, firstSeenAt: receivedAt, lastSeenAt: receivedAt, count: 1 });
    }
    if (this.#counted.size > 0) this.#planWrite();
  }

  /** @internal Writes the remaining counts. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#write();
  }

  /** Never rejects: counts that could not be written are written later. */
  async #write(): Promise<void> {
    // Events that have just been answered are compared at the end of this turn of the event loop.
    await turn();
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    const rows = [...this.#counted.values()];
    if (rows.length === 0) return;
    this.#counted = new Map();
    const { store, telemetry } = this.#parts;
    try {
      for (const seen of await store.add(rows)) telemetry.report('drift_seen', { ...seen });
    } catch (error) {
      telemetry.report('drift_failed', { cause: messageOf(error) });
      for (const row of rows) this.#count(row);
      this.#planWrite();
    }
  }

  #count(row: DriftRow): void {
    const key = keyOf(row);
    const counted = this.#counted.get(key);
    if (!counted && this.#counted.size >= maxCounted) return;
    this.#counted.set(key, counted ? sumOf(counted, row) : row);
  }

  #planWrite(): void {
    if (this.#isStopped) return;
    this.#cancelWrite ??= this.#parts.clock.after(writePause, () => void this.#write());
  }
}

/** Unambiguous: none of the three contains a space. */
function keyOf({ eventName, path, kind }: Drift): string {
  return `${eventName} ${path} ${kind}`;
}

function sumOf(one: DriftRow, other: DriftRow): DriftRow {
  return {
    ...one,
    firstSeenAt: Math.min(one.firstSeenAt, other.firstSeenAt),
    lastSeenAt: Math.max(one.lastSeenAt, other.lastSeenAt),
    count: one.count + other.count,
  };
}
