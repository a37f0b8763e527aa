/** What the stores in SQL have in common when they read the events of calls, and list calls. */
import type { CallEventRow, CallRecord } from '../../calls/timeline.ts';
import type { CallFilter, CallPage } from '../call-store.ts';
import type { Sequence } from '../event-record.ts';
import { storedJson } from './altered-rows.ts';
import { cursorAfter } from './cursor.ts';

/** What an event says about its call, as a row of `events`. */
export interface EventFactsRow {
  readonly event_name: string;
  readonly trace_id: string;
  readonly organization_id: string | null;
  readonly agent_id: string | null;
  readonly occurred_at: number;
  readonly received_at: number;
  /** As JSON, without the agent's id. */
  readonly facts: string;
}

/** A call, and its place in the list: the sequence of its first event. */
export interface ListedCall {
  readonly sequence: Sequence;
  readonly call: CallRecord;
}

export function callEventOf(row: EventFactsRow): CallEventRow {
  return {
    eventName: row.event_name,
    traceId: row.trace_id,
    organizationId: row.organization_id ?? undefined,
    occurredAt: row.occurred_at,
    receivedAt: row.received_at,
    facts: {
      ...storedJson(row.facts, 'events.facts', row.trace_id),
      agentId: row.agent_id ?? undefined,
    },
  };
}

export function matchesCall(call: CallRecord, { agentId, status, since, until }: CallFilter): boolean {
  const firstSeenAt = call.firstSeenAt.getTime();
  return (
    (agentId === undefined || call.agentId === agentId) &&
    (status === undefined || call.status === status) &&
    (since === undefined || firstSeenAt >= since) &&
    (until === undefined || firstSeenAt < until)
  );
}

/** Makes a page. `found` has one call more than `limit` if there is another page. */
export function callPageOf(found: readonly ListedCall[], limit: number): CallPage {
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return { calls: shown.map(({ call }) => call), cursor: last && cursorAfter('calls', last.sequence) };
}

/** The names among `events`, for which a join waits, that the call's rows have. */
export function namesAmong(rows: readonly CallEventRow[], events: readonly string[]): string[] {
  return [...new Set(rows.map(({ eventName }) => eventName))].filter((name) => events.includes(name));
}
