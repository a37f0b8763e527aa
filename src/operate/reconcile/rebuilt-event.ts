/** Rebuilds events from what the platform says about their call. */
import { eventNames } from '../../events/names.ts';
import { type ReconcilableName, reconciledTraceId } from '../../events/reconciled.ts';
import { readEvent } from '../../events/read-event.ts';
import type { CallEvent } from '../../events/model.ts';
import { type EventRecord, recordOf } from '../../store/event-record.ts';
import type { KnownCall, KnownTime } from './known-call.ts';

/** The events that a call should have had by now. The analysis may not be ready yet. */
export function eventsOf({ hasStarted, hasEnded }: KnownCall): readonly ReconcilableName[] {
  return [
    ...(hasStarted ? [eventNames.callStarted] : []),
    ...(hasEnded ? [eventNames.callEnded, eventNames.pcaCompleted] : []),
  ];
}

/** The latest known time before the event was sent. For an analysis, that is the end of the call. */
export function timeBefore(
  eventName: ReconcilableName,
  { startTime, endTime }: KnownCall,
): KnownTime | undefined {
  return eventName === eventNames.callStarted ? startTime : endTime;
}

interface RebuiltEvent {
  readonly event: CallEvent;
  readonly record: EventRecord;
}

/**
 * Builds an event in the documented envelope. What the platform doesn't say, such as the status of an analysis, is left
 * out: a guess would look like something that was sent.
 */
export function rebuiltEvent(eventName: ReconcilableName, call: KnownCall, now: number): RebuiltEvent {
  const { callId, agentId, organizationId } = call;
  const isAnalysis = eventName === eventNames.pcaCompleted;
  const envelope = {
    traceId: reconciledTraceId(eventName, callId),
    organizationId,
    eventName,
    event: eventName.slice(eventName.indexOf('.') + 1),
    timestamp: isAnalysis ? undefined : timeBefore(eventName, call)?.written,
    payload: { call_id: callId, agent_id: agentId },
  };
  const text = JSON.stringify(envelope);
  const body = Buffer.from(text);
  // Parsed from the text, as it will be when it is read from the inbox.
  const fields = JSON.parse(text) as Record<string, unknown>;
  const { event } = readEvent(fields, { body, headers: {}, receivedAt: now, source: 'reconciled' });
  return { event, record: recordOf(event, { headers: {}, body, receivedAt: now }) };
}
