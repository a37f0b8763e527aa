import type { PlayedCall, PlayedEvent } from '../../src/sandbox/calls/call.ts';
import { type CallRecord, eventNames } from '../support/public.ts';

/** A call's record as far as the sandbox can know it: everything except when its events arrived. */
export interface Timeline {
  readonly agentId: string | undefined;
  readonly status: string;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly durationMs: number | undefined;
  readonly transfer: Readonly<Record<string, unknown>> | undefined;
  readonly analysis: Readonly<Record<string, unknown>> | undefined;
  /** By trace id. The time of an event with a flat body is left out, because such a body has none. */
  readonly events: Readonly<
    Record<string, { readonly name: string; readonly occurredAt: number | undefined }>
  >;
}

/** The call that the simulator played, as the events that have arrived report it; undefined when none has arrived. */
export function playedTimeline(call: PlayedCall, has: (event: PlayedEvent) => boolean): Timeline | undefined {
  const events = call.events.filter(has);
  const named = (name: string) => events.some(({ eventName }) => eventName === name);
  const hasEnded = named(eventNames.callEnded);
  const hasStarted = named(eventNames.callStarted);
  const transfer = named(eventNames.callTransferred) ? call.transfer : undefined;
  const analysis = named(eventNames.pcaCompleted) ? call.analysis : undefined;
  if (events.length === 0) return undefined;
  return {
    agentId: call.agentId,
    status: statusOf({ hasEnded, transfer, analysis }),
    // A transfer reports the call's start as well.
    startedAt: hasStarted || transfer ? call.startedAt : undefined,
    endedAt: hasEnded ? call.endedAt : undefined,
    durationMs: hasStarted && hasEnded ? call.endedAt - call.startedAt : undefined,
    transfer: transfer && {
      destination: transfer.destination,
      status: transfer.status,
      reason: transfer.reason,
      sentiment: transfer.sentiment,
      at: transfer.at,
    },
    analysis: analysis && { status: analysis.status, reason: analysis.reason, at: analysis.at },
    events: Object.fromEntries(
      events.map(({ traceId, eventName, occurredAt }) => [traceId, { name: eventName, occurredAt }]),
    ),
  };
}

/** The call as the receiver has recorded it. */
export function receivedTimeline(call: PlayedCall, record: CallRecord | undefined): Timeline | undefined {
  if (!record) return undefined;
  const isFlat = (traceId: string) =>
    call.events.some((event) => event.traceId === traceId && event.occurredAt === undefined);
  const { transfer, analysis } = record;
  return {
    agentId: record.agentId,
    status: record.status,
    startedAt: record.startedAt?.getTime(),
    endedAt: record.endedAt?.getTime(),
    durationMs: record.durationMs,
    transfer: transfer && { ...transfer, at: transfer.at.getTime() },
    analysis: analysis && { ...analysis, at: analysis.at.getTime() },
    events: Object.fromEntries(
      record.events.map(({ traceId, name, occurredAt }) => [
        traceId,
        { name, occurredAt: isFlat(traceId) ? undefined : occurredAt.getTime() },
      ]),
    ),
  };
}

function statusOf({
  hasEnded,
  transfer,
  analysis,
}: Pick<PlayedCall, 'transfer' | 'analysis'> & { readonly hasEnded: boolean }): string {
  if (analysis) return 'analysed';
  if (transfer && transfer.status !== 'failed') return 'transferred';
  return hasEnded ? 'ended' : 'in_progress';
}
