import type { CallRecord } from '../support/public.ts';

/** The row of the view `calls` that corresponds to a record. */
export function viewRowOf(call: CallRecord | undefined): Readonly<Record<string, unknown>> {
  if (!call) throw new Error('There is no call');
  const iso = (date: Date | undefined) => date?.toISOString() ?? null;
  return {
    call_id: call.callId,
    organization_id: call.organizationId ?? null,
    agent_id: call.agentId ?? null,
    status: call.status,
    started_at: iso(call.startedAt),
    ended_at: iso(call.endedAt),
    duration_ms: call.durationMs ?? null,
    transfer_destination: call.transfer?.destination ?? null,
    transfer_status: call.transfer?.status ?? null,
    transfer_reason: call.transfer?.reason ?? null,
    transfer_sentiment: call.transfer?.sentiment ?? null,
    transferred_at: iso(call.transfer?.at),
    analysis_status: call.analysis?.status ?? null,
    analysis_reason: call.analysis?.reason ?? null,
    analysed_at: iso(call.analysis?.at),
    events: call.events.length,
    first_seen_at: iso(call.firstSeenAt),
    last_seen_at: iso(call.lastSeenAt),
  };
}
