import type Database from 'better-sqlite3';
import type { Sequence } from '../run-key.ts';

/** An event that is to go. */
export interface Removable {
  readonly sequence: Sequence;
  readonly callId: string | null;
}

/** Removes events and all that belongs to them, inside a transaction of the caller's. */
export type Remove = (
  events: readonly Removable[],
  traceIdsUntil: number,
) => { events: number; runs: number };

/**
 * With an event go its runs. Its identities stay, without it: a copy that comes late is still a duplicate. Its call
 * is told anew from the events that are left.
 */
export function prepareRemoval(database: Database.Database, updateCall: (callId: string) => void): Remove {
  const deleteRuns = database.prepare('delete from runs where sequence = ?');
  const entomb = database.prepare('update identities set sequence = null, expires_at = ? where sequence = ?');
  const deleteEvent = database.prepare('delete from events where sequence = ?');

  return (events, traceIdsUntil) => {
    let removed = 0;
    let runs = 0;
    for (const { sequence } of events) {
      runs += deleteRuns.run(sequence).changes;
      entomb.run(traceIdsUntil, sequence);
      removed += deleteEvent.run(sequence).changes;
    }
    for (const callId of new Set(events.map((event) => event.callId))) {
      if (callId !== null) updateCall(callId);
    }
    return { events: removed, runs };
  };
}
