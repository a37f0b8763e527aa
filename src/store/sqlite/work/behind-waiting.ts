import type Database from 'better-sqlite3';
import type { Sequence } from '../../event-record.ts';

interface EventOfCall {
  readonly sequence: Sequence;
  readonly callId: string | null;
}

/** How many waiting events are read at once. */
const batchSize = 256;
/** How many are read in one transaction at most. A run beyond the last one read counts as behind a waiting event. */
const maxRead = 16 * batchSize;

/** The first waiting event, and the next ones after a sequence, in order. */
interface Waiting {
  readonly first: Sequence | undefined;
  readonly after: (sequence: Sequence) => readonly EventOfCall[];
}

/**
 * Tells whether an earlier event of the same call waits. When a process ends, the events whose runs it had in memory
 * wait to be claimed again. A later run of the call may have a row, because memory had no room for it: claimed at once,
 * it would overtake those events.
 */
class BehindWaiting {
  readonly #waiting: Waiting;
  readonly #firstOfCalls = new Map<string | null, Sequence>();
  /** Waiting events have been read up to here. It starts before the first one, and most runs come before that. */
  #readTo: Sequence;
  #read = 0;

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
    this.#readTo = (waiting.first ?? Infinity) - 1;
  }

  has({ sequence, callId }: EventOfCall): boolean {
    if (callId === null) return false;
    while (this.#readTo < sequence - 1 && this.#read < maxRead) this.#readMore();
    const first = this.#firstOfCalls.get(callId) ?? Infinity;
    return first < sequence || this.#readTo < sequence - 1;
  }

  #readMore(): void {
    const events = this.#waiting.after(this.#readTo);
    for (const { sequence, callId } of events) {
      if (!this.#firstOfCalls.has(callId)) this.#firstOfCalls.set(callId, sequence);
    }
    this.#read += events.length;
    const last = events.length < batchSize ? undefined : events.at(-1);
    this.#readTo = last?.sequence ?? Infinity;
  }
}

/** Call the function anew in each transaction. */
export function prepareBehindWaiting(database: Database.Database): () => BehindWaiting {
  const first = database.prepare('select min(sequence) from waiting').pluck();
  const next = database.prepare(`
    select sequence, call_id as callId from waiting cross join events using (sequence)
    where sequence > ? order by sequence limit ${batchSize}`);
  const after = (sequence: Sequence) => next.all(sequence) as EventOfCall[];
  return () => new BehindWaiting({ first: (first.get() as Sequence | null) ?? undefined, after });
}
