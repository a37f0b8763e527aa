import type Database from 'better-sqlite3';
import type { Sequence } from '../../event-record.ts';

interface EventOfCall {
  readonly sequence: Sequence;
  readonly callId: string | null;
}

/** How many waiting events are read at most. A run beyond the last one read counts as behind a waiting event. */
const maxRead = 4_096;

/**
 * Tells whether an earlier event of the same call waits. When a process ends, the events whose runs it had in memory
 * wait to be claimed again. A later run of the call may have a row, because memory had no room for it: claimed at once,
 * it would overtake those events. Call the function anew in each transaction.
 *
 * Reads the waiting events themselves, if a run comes after the first one: an index of them by call would make an event
 * of a backlog half as expensive again for the writer.
 */
export function prepareBehindWaiting(database: Database.Database): () => (run: EventOfCall) => boolean {
  const first = database.prepare('select min(sequence) from waiting').pluck();
  const earliest = database.prepare(`
    select sequence, call_id as callId from waiting cross join events using (sequence)
    order by sequence limit ${maxRead}`);

  const read = () => {
    const events = earliest.all() as EventOfCall[];
    const upTo = events.length < maxRead ? Infinity : (events.at(-1)?.sequence ?? Infinity);
    // Of several events of a call, the first one stays.
    const firstOfCalls = new Map(events.toReversed().map(({ sequence, callId }) => [callId, sequence]));
    return { upTo, firstOfCalls };
  };

  return () => {
    const begins = (first.get() as Sequence | null) ?? Infinity;
    let waiting: ReturnType<typeof read> | undefined;
    return ({ sequence, callId }) => {
      if (callId === null || sequence < begins) return false;
      waiting ??= read();
      return sequence > waiting.upTo || (waiting.firstOfCalls.get(callId) ?? Infinity) < sequence;
    };
  };
}
