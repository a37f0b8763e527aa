import type Database from 'better-sqlite3';
import { type CallEventRow, type CallFacts, type CallRecord, callRecordOf } from '../../calls/timeline.ts';

interface EventFactsRow {
  readonly sequence: number;
  readonly event_name: string;
  readonly trace_id: string;
  readonly organization_id: string | null;
  readonly occurred_at: number;
  readonly received_at: number;
  readonly facts: string;
}

/** Reads a call's events and keeps its record. */
export function prepareCallRecords(database: Database.Database) {
  const eventsOfCall = database.prepare(`
    select sequence, event_name, trace_id, organization_id, occurred_at, received_at, facts
    from events where call_id = ? order by sequence`);
  const upsert = database.prepare(`
    insert or replace into call_records values (
      @callId, @firstSequence, @organizationId, @agentId, @status, @startedAt, @endedAt, @durationMs,
      @destination, @transferStatus, @transferReason, @sentiment, @transferredAt,
      @analysisStatus, @analysisReason, @analysedAt, @events, @firstSeenAt, @lastSeenAt)`);

  const deleteRecord = database.prepare('delete from call_records where call_id = ?');
  const deleteJoins = database.prepare('delete from joins where call_id = ?');

  const rowsOf = (callId: string) => eventsOfCall.all(callId) as EventFactsRow[];

  return {
    eventsOf: (callId: string): CallEventRow[] => rowsOf(callId).map(toCallEvent),

    /**
     * Tells the call anew from all its events: nothing depends on the order in which they came. With the last of
     * them goes what is known of the call, and what its joins remember.
     */
    update: (callId: string): void => {
      const rows = rowsOf(callId);
      const firstSequence = rows[0]?.sequence;
      if (firstSequence === undefined) {
        deleteRecord.run(callId);
        deleteJoins.run(callId);
        return;
      }
      upsert.run({ ...columnsOf(callRecordOf(callId, rows.map(toCallEvent))), firstSequence });
    },
  };
}

function toCallEvent(row: EventFactsRow): CallEventRow {
  return {
    eventName: row.event_name,
    traceId: row.trace_id,
    organizationId: row.organization_id ?? undefined,
    occurredAt: row.occurred_at,
    receivedAt: row.received_at,
    facts: JSON.parse(row.facts) as CallFacts,
  };
}

function columnsOf(call: CallRecord) {
  const { transfer, analysis } = call;
  return {
    callId: call.callId,
    organizationId: call.organizationId ?? null,
    agentId: call.agentId ?? null,
    status: call.status,
    startedAt: call.startedAt?.getTime() ?? null,
    endedAt: call.endedAt?.getTime() ?? null,
    durationMs: call.durationMs ?? null,
    destination: transfer?.destination ?? null,
    transferStatus: transfer?.status ?? null,
    transferReason: transfer?.reason ?? null,
    sentiment: transfer?.sentiment ?? null,
    transferredAt: transfer?.at.getTime() ?? null,
    analysisStatus: analysis?.status ?? null,
    analysisReason: analysis?.reason ?? null,
    analysedAt: analysis?.at.getTime() ?? null,
    events: call.events.length,
    firstSeenAt: call.firstSeenAt.getTime(),
    lastSeenAt: call.lastSeenAt.getTime(),
  };
}
