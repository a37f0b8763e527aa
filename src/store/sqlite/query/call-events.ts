import type Database from 'better-sqlite3';
import type { CallEventRow } from '../../../calls/timeline.ts';
import type { KeptJoin } from '../../call-store.ts';
import { type EventFactsRow, callEventOf } from '../../shared/call-rows.ts';
import { type KeptJoinRow, keptJoinOf } from '../../shared/join-progress.ts';
import { callKey, sequencesOfCall } from '../work/call-index.ts';
import { asText } from '../connection/parameters.ts';

/**
 * Reads the events of a call, and what joins remember of it. The call itself is not stored, but computed from its
 * events when somebody asks: computing it with every event would cost the square of the number of events.
 */
export function prepareCallEvents(database: Database.Database) {
  const eventsOfCall = database.prepare(`
    select event_name, trace_id, organization_id, agent_id, occurred_at, received_at, facts
    from events where sequence in (${sequencesOfCall('@key')}) and call_id = ${asText('@callId')} order by sequence`);
  const joinsOfCall = database.prepare(
    `select handler, seen, progress from joins where call_id = ${asText('?')} order by handler`,
  );

  return {
    eventsOf: (callId: string): CallEventRow[] =>
      (eventsOfCall.all({ key: callKey(callId), callId }) as EventFactsRow[]).map((row) => callEventOf(row)),
    joinsOf: (callId: string): KeptJoin[] => (joinsOfCall.all(callId) as KeptJoinRow[]).map(keptJoinOf),
  };
}
