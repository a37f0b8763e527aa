/** What the outbox stores, as objects and as rows. */
import type { SandboxEvent } from '../model.ts';

export const tables = `
  create table if not exists events (
    trace_id text primary key,
    event_name text not null,
    organization_id text not null,
    agent_id text not null,
    workspace_id text,
    call_id text not null,
    body blob not null,
    happens_at real not null,
    has_happened integer not null
  ) strict;
  create index if not exists events_to_come on events (happens_at) where has_happened = 0;
  create table if not exists deliveries (
    trace_id text not null references events (trace_id),
    subscription_id text not null,
    state text not null check (state in ('due', 'delivered', 'given_up')),
    attempts integer not null,
    due_at real not null,
    primary key (trace_id, subscription_id)
  ) strict, without rowid;
  create index if not exists deliveries_due on deliveries (state) where state = 'due';
  create index if not exists deliveries_given_up on deliveries (state) where state = 'given_up';
`;

/** An event on its way to one subscription. */
export interface PendingDelivery {
  readonly event: SandboxEvent;
  readonly subscriptionId: string;
  /** How many were made so far. */
  readonly attempts: number;
  /** When the next attempt is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

/** An event that is to happen. */
export interface ComingEvent {
  readonly event: SandboxEvent;
  /** In milliseconds since 1970. */
  readonly happensAt: number;
}

export type DeliveryState = 'due' | 'delivered' | 'given_up';

export interface EventRow {
  readonly trace_id: string;
  readonly event_name: string;
  readonly organization_id: string;
  readonly agent_id: string;
  readonly workspace_id: string | null;
  readonly call_id: string;
  readonly body: Uint8Array;
  readonly happens_at: number;
}

export interface DeliveryRow {
  readonly trace_id: string;
  readonly subscription_id: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly due_at: number;
}

export function eventRowOf({ event, happensAt }: ComingEvent): EventRow {
  return {
    trace_id: event.traceId,
    event_name: event.eventName,
    organization_id: event.organizationId,
    agent_id: event.agentId,
    workspace_id: event.workspaceId ?? null,
    call_id: event.callId,
    body: event.body,
    happens_at: happensAt,
  };
}

export function eventOf(row: EventRow): SandboxEvent {
  return {
    traceId: row.trace_id,
    eventName: row.event_name,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    workspaceId: row.workspace_id ?? undefined,
    callId: row.call_id,
    body: row.body,
  };
}

export function deliveryRowOf(
  { event, subscriptionId, attempts, dueAt }: PendingDelivery,
  state: DeliveryState,
): DeliveryRow {
  return {
    trace_id: event.traceId,
    subscription_id: subscriptionId,
    state,
    attempts,
    due_at: dueAt,
  };
}
