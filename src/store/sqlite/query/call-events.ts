import type Database from 'better-sqlite3';
import type { CallEventRow, CallFacts } from '../../../calls/timeline.ts';
import { sequencesOfCall } from '../work/call-index.ts';
import { callKey } from '../dedupe/keys.ts';
import { asText } from '../connection/parameters.ts';

interface EventFactsRow {
  readonly event_name: string;
  readonly trace_id: string;
  readonly organization_id: string | null;
  readonly agent_id: string | null;
  readonly occurred_at: number;
  readonly received_at: number;
  readonly facts: string;
}

/**
 * Reads the events of a call. The call itself is stored nowhere, but computed from its events whenever somebody asks:
 * computing it anew with every event would cost the square of the number of events.
 */
export function prepareCallEvents(database: Database.Database) {
  const eventsOfCall = database.prepare(`
    select event_name, trace_id, organization_id, agent_id, occurred_at, received_at, facts
    from events where sequence in (${sequencesOfCall('@key')}) and call_id = ${asText('@callId')} order by sequence`);

  return {
    /** In order of arrival. */
    eventsOf: (callId: string): CallEventRow[] =>
      (eventsOfCall.all({ key: callKey(callId), callId }) as EventFactsRow[]).map(toCallEvent),
  };
}

function toCallEvent(row: EventFactsRow): CallEventRow {
  return {
    eventName: row.event_name,
    traceId: row.trace_id,
    organizationId: row.organization_id ?? undefined,
    occurredAt: row.occurred_at,
    receivedAt: row.received_at,
    facts: { ...(JSON.parse(row.facts) as CallFacts), agentId: row.agent_id ?? undefined },
  };
}
