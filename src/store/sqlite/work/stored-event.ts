import type { StoredEvent } from '../../event-store.ts';
import type { Headers } from '../../../events/model.ts';

/** The columns of an event that is handled. */
export interface StoredEventRow {
  readonly sequence: number;
  readonly trace_id: string;
  readonly event_name: string;
  readonly call_id: string | null;
  readonly received_at: number;
  readonly headers: string;
  readonly body: Buffer;
}

/** Turns a row into the event that the contract describes. */
export function storedEvent(row: StoredEventRow): StoredEvent {
  return {
    sequence: row.sequence,
    traceId: row.trace_id,
    eventName: row.event_name,
    callId: row.call_id ?? undefined,
    receivedAt: row.received_at,
    headers: JSON.parse(row.headers) as Headers,
    body: row.body,
  };
}
