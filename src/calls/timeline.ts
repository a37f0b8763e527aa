import { eventNames } from '../events/names.ts';
import { dateOf, parseKnownTime } from '../kit/time.ts';
import { fieldsOf, storable } from '../kit/values.ts';
import type { CallEvent, OccurredAtSource } from '../events/model.ts';

/** What one event says about its call. Stored with the event, so that calls are computed without reading bodies. */
export interface CallFacts {
  readonly agentId?: string | undefined;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
  readonly destination?: string | undefined;
  readonly sentiment?: string | undefined;
  /** Times inside a transfer's metadata, in milliseconds since 1970. */
  readonly callStart?: number | undefined;
  readonly callEnd?: number | undefined;
  readonly source: OccurredAtSource;
}

/** One event of a call, as stored. Times in milliseconds since 1970. */
export interface CallEventRow {
  readonly eventName: string;
  readonly traceId: string;
  readonly organizationId: string | undefined;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly facts: CallFacts;
}

/** How far a call has come. */
export type CallStatus = 'in_progress' | 'ended' | 'transferred' | 'analysed';

/** A call, computed from its events by event time: the same events give the same record, in any order. */
export interface CallRecord {
  readonly callId: string;
  readonly organizationId: string | undefined;
  readonly agentId: string | undefined;
  /** When the call began: the time of its start event, else the start time that a transfer gives. */
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
  /** Milliseconds from start to end; only if the bodies of both events carry a time. */
  readonly durationMs: number | undefined;
  /** What the last transfer event says; undefined when there is none. */
  readonly transfer:
    | {
        /** A SIP address, a phone number or an internal extension. */
        readonly destination: string | undefined;
        /** The state of the transfer, for example `success` or `failed`. */
        readonly status: string | undefined;
        /** Why the call was transferred, in the platform's words. */
        readonly reason: string | undefined;
        /** The customer's sentiment before the transfer, in the platform's words. */
        readonly sentiment: string | undefined;
        /** The end of the call as the transfer gives it, else the time of the transfer event. */
        readonly at: Date;
      }
    | undefined;
  /** What the last analysis event says; undefined when there is none. */
  readonly analysis:
    | {
        /** How the analysis ended, for example `success`. */
        readonly status: string | undefined;
        /** Why it has this status, in the platform's words. */
        readonly reason: string | undefined;
        /** The time of its event. */
        readonly at: Date;
      }
    | undefined;
  readonly status: CallStatus;
  /** The call's events in order of event time. */
  readonly events: readonly {
    readonly name: string;
    readonly occurredAt: Date;
    readonly receivedAt: Date;
    readonly traceId: string;
  }[];
  /** When the first and the last of its events arrived here. */
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
}

export function factsOf({ payload, occurredAtSource }: CallEvent): CallFacts {
  const summary = fieldsOf(payload['call_summary']);
  const metadata = fieldsOf(payload['metadata']);
  return {
    agentId: textOf(payload['agent_id']),
    status: textOf(payload['status']),
    reason: textOf(payload['reason']) ?? textOf(summary['transfer_reason']),
    destination: textOf(payload['transfer_to']),
    sentiment: textOf(summary['customer_sentiment']),
    callStart: parseKnownTime(metadata['call_start_time'])?.milliseconds,
    callEnd: parseKnownTime(metadata['call_end_time'])?.milliseconds,
    source: occurredAtSource,
  };
}

/** Computes the record of a call from its events, which may come in any order and repeatedly. */
export function callRecordOf(callId: string, rows: readonly CallEventRow[]): CallRecord {
  const events = inEventOrder(rows);
  const named = (name: string) => events.filter((row) => row.eventName === name);
  const transfer = named(eventNames.callTransferred).at(-1);
  const analysis = named(eventNames.pcaCompleted).at(-1);
  const start = named(eventNames.callStarted).find(hasEventTime);
  const end = named(eventNames.callEnded).findLast(hasEventTime);
  const arrivals = events.map((row) => row.receivedAt);
  const startedAt = start?.occurredAt ?? firstOf(events.map((row) => row.facts.callStart));
  return {
    callId,
    organizationId: firstOf(events.map((row) => row.organizationId)),
    agentId: firstOf(events.map((row) => row.facts.agentId)),
    startedAt: dateOf(startedAt),
    endedAt: dateOf(end?.occurredAt),
    durationMs: durationOf(start, end),
    transfer: transfer && transferOf(transfer),
    analysis: analysis && analysisOf(analysis),
    status: statusOf(transfer, analysis, named(eventNames.callEnded).length > 0),
    events: events.map((row) => ({
      name: row.eventName,
      occurredAt: new Date(row.occurredAt),
      receivedAt: new Date(row.receivedAt),
      traceId: row.traceId,
    })),
    // Not `Math.min(...arrivals)`: if a placeholder is used as call id, the call may have more events than fit on the
    // stack.
    firstSeenAt: new Date(arrivals.reduce((first, arrival) => Math.min(first, arrival), Infinity)),
    lastSeenAt: new Date(arrivals.reduce((last, arrival) => Math.max(last, arrival), -Infinity)),
  };
}

/** Sorts by event time, then by trace id, so that the order of arrival never matters. A repeated event counts once. */
function inEventOrder(rows: readonly CallEventRow[]): readonly CallEventRow[] {
  const unique = new Map<string, CallEventRow>();
  for (const row of rows) {
    const known = unique.get(row.traceId);
    if (!known || row.receivedAt < known.receivedAt) unique.set(row.traceId, row);
  }
  return [...unique.values()].sort(
    (left, right) => left.occurredAt - right.occurredAt || compareText(left.traceId, right.traceId),
  );
}

/** Whether an event carries a time of its own. Its arrival doesn't count: that depends on the network. */
function hasEventTime(row: CallEventRow): boolean {
  return row.facts.source !== 'arrival';
}

/** Uses only times from bodies: a header's time may be that of the delivery attempt, and wrong after a retry. */
function durationOf(start: CallEventRow | undefined, end: CallEventRow | undefined): number | undefined {
  if (start?.facts.source !== 'body' || end?.facts.source !== 'body') return undefined;
  const duration = end.occurredAt - start.occurredAt;
  return duration >= 0 ? duration : undefined;
}

function transferOf({ facts, occurredAt }: CallEventRow): NonNullable<CallRecord['transfer']> {
  const { destination, status, reason, sentiment, callEnd } = facts;
  return { destination, status, reason, sentiment, at: new Date(callEnd ?? occurredAt) };
}

function analysisOf({ facts, occurredAt }: CallEventRow): NonNullable<CallRecord['analysis']> {
  return { status: facts.status, reason: facts.reason, at: new Date(occurredAt) };
}

function statusOf(
  transfer: CallEventRow | undefined,
  analysis: CallEventRow | undefined,
  hasEnded: boolean,
): CallStatus {
  if (analysis) return 'analysed';
  if (transfer && transfer.facts.status !== 'failed') return 'transferred';
  return hasEnded ? 'ended' : 'in_progress';
}

function firstOf<T>(values: readonly (T | undefined)[]): T | undefined {
  return values.find((value) => value !== undefined);
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? storable(value) : undefined;
}
