import { setImmediate as turn } from 'node:timers/promises';
import { messageOf } from '../kit/error-text.ts';
import type { Clock } from '../kit/clock.ts';

/** How long counts are gathered before a write, in milliseconds: a write for each would double the cost of an event. */
const writePause = 5_000;
/** How many different things are counted between two writes: a sender must not fill the memory with them. */
const maxCounted = 1_000;

/** How often something was seen, and when first and last. Times in milliseconds since 1970. */
interface Seen {
  readonly count: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
}

interface SeenCountsParts<Row> {
  readonly clock: Clock;
  /** What is counted together has the same key. */
  readonly keyOf: (row: Row) => string;
  /** Adds the counts to those in the inbox. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
  /** Called when counts could not be written; they are written later. */
  readonly onFailed: (cause: string) => void;
}

/**
 * Counts in memory, and writes the counts in groups, so that no answer waits for a write. If the process is killed, the
 * counts of the last seconds are lost.
 */
export class SeenCounts<Row extends Seen> {
  readonly #parts: SeenCountsParts<Row>;
  #counted = new Map<string, Row>();
  #cancelWrite: (() => void) | undefined;
  #isStopped = false;

  constructor(parts: SeenCountsParts<Row>) {
    this.#parts = parts;
  }

  add(row: Row): void {
    const key = this.#parts.keyOf(row);
    const counted = this.#counted.get(key);
    if (!counted && this.#counted.size >= maxCounted) return;
    this.#counted.set(key, counted ? sumOf(counted, row) : row);
    if (!this.#isStopped) this.#cancelWrite ??= this.#parts.clock.after(writePause, () => void this.write());
  }

  /** Writes what has been counted. Never rejects: counts that could not be written are written later. */
  async write(): Promise<void> {
    // What has just been answered is counted at the end of this turn of the event loop.
    await turn();
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    const rows = [...this.#counted.values()];
    if (rows.length === 0) return;
    this.#counted = new Map();
    try {
      await this.#parts.write(rows);
    } catch (error) {
      this.#parts.onFailed(messageOf(error));
      for (const row of rows) this.add(row);
    }
  }

  /** Writes the remaining counts. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.write();
  }
}

function sumOf<Row extends Seen>(one: Row, other: Row): Row {
  return {
    ...one,
    count: one.count + other.count,
    firstSeenAt: Math.min(one.firstSeenAt, other.firstSeenAt),
    lastSeenAt: Math.max(one.lastSeenAt, other.lastSeenAt),
  };
}
