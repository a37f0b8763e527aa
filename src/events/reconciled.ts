/**
 * Events that the platform gave up on, rebuilt from its record of the call. A call has at most one of each name, so
 * name and call identify the event.
 */
import { createHash } from 'node:crypto';
import { eventNames, maxId } from './names.ts';

/** Events that happen once per call. A call may be transferred several times, and nothing tells those events apart. */
export const reconcilableNames = [
  eventNames.callStarted,
  eventNames.callEnded,
  eventNames.pcaCompleted,
] as const;

/** The name of an event that can be rebuilt. */
export type ReconcilableName = (typeof reconcilableNames)[number];

/** Whether an event of this name can be rebuilt. */
export function isReconcilable(eventName: string): eventName is ReconcilableName {
  return (reconcilableNames as readonly string[]).includes(eventName);
}

/**
 * The trace id of a rebuilt event: always the same for a name and a call, so that it is recorded once.
 *
 * @example reconciledTraceId('CallHandler.CallEnded', 'call_42') // 'reconciled:CallHandler.CallEnded:call_42'
 */
export function reconciledTraceId(eventName: ReconcilableName, callId: string): string {
  const traceId = `reconciled:${eventName}:${callId}`;
  if (traceId.length <= maxId) return traceId;
  return `reconciled-sha256:${eventName}:${createHash('sha256').update(callId).digest('hex')}`;
}
