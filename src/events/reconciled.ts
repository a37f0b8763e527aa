/**
 * Events that the platform gave up on, and that are rebuilt from what it says of their call. Of one name a call has one at
 * the most, so that its name and its call identify it.
 */
import { createHash } from 'node:crypto';
import { maxId } from './ids.ts';
import { eventNames } from './names.ts';

/** What happens once in a call. A call may be transferred several times, and nothing tells these events apart. */
export const reconcilableNames = [
  eventNames.callStarted,
  eventNames.callEnded,
  eventNames.pcaCompleted,
] as const;

/** The name of an event that can be rebuilt. */
export type ReconcilableName = (typeof reconcilableNames)[number];

/** Whether events of a name can be rebuilt. */
export function isReconcilable(eventName: string): eventName is ReconcilableName {
  return (reconcilableNames as readonly string[]).includes(eventName);
}

/**
 * The trace id of an event that is rebuilt: always the same for a call, so that it is recorded once.
 *
 * @example reconciledTraceId('CallHandler.CallEnded', 'call_42') // 'reconciled:CallHandler.CallEnded:call_42'
 */
export function reconciledTraceId(eventName: ReconcilableName, callId: string): string {
  const traceId = `reconciled:${eventName}:${callId}`;
  if (traceId.length <= maxId) return traceId;
  return `reconciled-sha256:${eventName}:${createHash('sha256').update(callId).digest('hex')}`;
}
