/** The events that can be rebuilt from what the platform says of their call. */
import { createHash } from 'node:crypto';
import { eventNames } from '../../events/names.ts';
import { type ReconcilableName, reconciledTraceId } from '../../events/reconciled.ts';
import { readEvent } from '../../events/read-event.ts';
import type { CallEvent } from '../../events/model.ts';
import { type EventRecord, recordOf } from '../../store/event-record.ts';
import type { KnownCall, KnownTime } from './known-call.ts';

/** The events that a call must have had by now, or may have had: whether its analysis is ready is not known yet. */
export function eventsOf({ hasStarted, hasEnded }: KnownCall): readonly ReconcilableName[] {
  return [
    ...(hasStarted ? [eventNames.callStarted] : []),
    ...(hasEnded ? [eventNames.callEnded, eventNames.pcaCompleted] : []),
  ];
}

/** The latest time that is known before the event was sent. When an analysis was ready isn't; it comes after the end. */
export function timeBefore(
  eventName: ReconcilableName,
  { startTime, endTime }: KnownCall,
): KnownTime | undefined {
  return eventName === eventNames.callStarted ? startTime : endTime;
}

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
  const isAnalysis = eventName === eventNames.pcaCompleted;
  const fields = {
    traceId: reconciledTraceId(eventName, callId),
    organizationId,
    eventName,
    event: eventName.slice(eventName.indexOf('.') + 1),
    timestamp: isAnalysis ? undefined : timeBefore(eventName, call)?.written,
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
