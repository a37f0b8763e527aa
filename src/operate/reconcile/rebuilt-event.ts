/** What the platform says of a call, and the events that can be rebuilt from it. */
import { createHash } from 'node:crypto';
import { firstId } from '../../events/ids.ts';
import { eventNames } from '../../events/names.ts';
import { type ReconcilableName, reconciledTraceId } from '../../events/reconciled.ts';
import { organizationIdNames, readEvent } from '../../events/reading.ts';
import type { CallEvent } from '../../events/model.ts';
import { parseInstant } from '../../kit/time.ts';
import { type EventRecord, recordOf } from '../../store/event-record.ts';
import type { ReadCall } from './reconcile-options.ts';

/** What is known of a call. */
export interface KnownCall {
  readonly callId: string;
  readonly agentId: string | undefined;
  readonly organizationId: string | undefined;
  readonly hasStarted: boolean;
  readonly hasEnded: boolean;
  /** As the platform wrote them, if they can be read. */
  readonly startTime: Time;
  readonly endTime: Time;
}

type Time = string | number | undefined;

/** Reads an answer about a call. Its states and the names of its fields were seen in use, and are not documented. */
export function knownCallOf(
  given: { readonly callId: string; readonly agentId: string | undefined },
  call: ReadCall,
): KnownCall {
  const status = call['call_status'];
  const startTime = timeIn(call['call_start_time']);
  const endTime = timeIn(call['call_end_time']);
  const hasEnded = status === 'ended' || endTime !== undefined;
  return {
    callId: given.callId,
    agentId: firstId(call['ai_agent_id'], call['agent_id'], given.agentId),
    organizationId: firstId(...organizationIdNames.map((name) => call[name])),
    hasStarted: hasEnded || status === 'ongoing' || startTime !== undefined,
    hasEnded,
    startTime,
    endTime,
  };
}

/** When the call was last known to go on, in milliseconds since 1970. */
export function lastTimeOf({ startTime, endTime }: KnownCall): number | undefined {
  return parseInstant(endTime ?? startTime)?.milliseconds;
}

/** An event with its record. */
export interface RebuiltEvent {
  readonly event: CallEvent;
  readonly record: EventRecord;
}

/**
 * An event in the documented envelope. What the platform doesn't say is left out, such as the status of an analysis: a guess
 * would be taken for what was sent.
 */
export function rebuiltEvent(eventName: ReconcilableName, call: KnownCall, now: number): RebuiltEvent {
  const { callId, agentId, organizationId } = call;
  const fields = {
    traceId: reconciledTraceId(eventName, callId),
    organizationId,
    eventName,
    event: eventName.slice(eventName.indexOf('.') + 1),
    timestamp: timeOf(eventName, call),
    payload: { call_id: callId, agent_id: agentId },
  };
  const text = JSON.stringify(fields);
  const bytes = Buffer.from(text);
  const digest = () => createHash('sha256').update(bytes).digest('hex');
  // Read from its text, as it will be when it is read from the inbox.
  const body = JSON.parse(text) as Record<string, unknown>;
  const { event } = readEvent({ body, headers: {}, digest, receivedAt: now, source: 'reconciled' });
  return { event, record: recordOf(event, digest, { headers: {}, body: bytes, receivedAt: now }) };
}

/** When an analysis was ready is not known. */
function timeOf(eventName: ReconcilableName, { startTime, endTime }: KnownCall): Time {
  if (eventName === eventNames.callStarted) return startTime;
  return eventName === eventNames.callEnded ? endTime : undefined;
}

function timeIn(value: unknown): Time {
  const isTime =
    (typeof value === 'string' || typeof value === 'number') && parseInstant(value) !== undefined;
  return isTime ? value : undefined;
}
