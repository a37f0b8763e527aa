import { eventNames } from '../../events/names.ts';
import type { SandboxEvent } from '../model.ts';
import type { PlayedCall, PlayedEvent, PlayedTransfer } from './call.ts';
import { seededRandom, seededUuid, wholeNumber } from './seeded-random.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An event of a call as it is delivered, with the body that the document shows (Envelope, Payload fields). */
export function sandboxEventOf(call: PlayedCall, event: PlayedEvent): SandboxEvent {
  const { organizationId, agentId, workspaceId, callId } = call;
  const { traceId, eventName } = event;
  const body = Buffer.from(JSON.stringify(bodyOf(call, event)));
  return { traceId, eventName, organizationId, agentId, workspaceId, callId, body };
}

function bodyOf(call: PlayedCall, event: PlayedEvent): Fields {
  const payload = payloadOf(call, event);
  // The flat body of a transfer has no envelope: the event's name and trace id are only in the headers.
  if (event.occurredAt === undefined) return payload;
  return {
    traceId: event.traceId,
    organizationId: call.organizationId,
    payload,
    eventName: event.eventName,
    event: event.eventName.slice(event.eventName.indexOf('.') + 1),
    timestamp: timestampOf(call, event.traceId, event.occurredAt),
  };
}

function payloadOf(call: PlayedCall, { eventName }: PlayedEvent): Fields {
  const { callId, agentId, status, transfer, analysis } = call;
  const ids = { call_id: callId, agent_id: agentId };
  if (eventName === eventNames.callTransferred && transfer) return { ...ids, ...transferOf(call, transfer) };
  if (eventName === eventNames.pcaCompleted && analysis) {
    return { ...ids, status: analysis.status, reason: analysis.reason, timestamp: analysis.at };
  }
  // A call that fails later starts like any other.
  return { ...ids, status: eventName === eventNames.callStarted ? 'success' : status };
}

/** The document's table "Call transfer event body". */
function transferOf(call: PlayedCall, transfer: PlayedTransfer): Fields {
  return {
    status: transfer.status,
    transfer_to: transfer.destination,
    caller: { phone_number: call.callerNumber },
    call_summary: {
      duration_seconds: Math.round((transfer.at - call.startedAt) / 1_000),
      topics_discussed: transfer.topics,
      actions_taken: transfer.actions,
      transfer_reason: transfer.reason,
      customer_sentiment: transfer.sentiment,
      unresolved_issues: transfer.unresolved,
    },
    transcript: call.messages,
    metadata: {
      call_start_time: new Date(call.startedAt).toISOString(),
      call_end_time: new Date(transfer.at).toISOString(),
      language: call.language,
    },
  };
}

/** UNIX seconds as in the document's table, or ISO 8601 to the nanosecond as in its samples. */
function timestampOf({ timestamps }: PlayedCall, traceId: string, at: number): number | string {
  if (timestamps === 'seconds') return at / 1_000;
  const belowMilliseconds = wholeNumber(seededRandom(traceId), 0, 999_999);
  return new Date(at).toISOString().replace('Z', `${String(belowMilliseconds).padStart(6, '0')}Z`);
}

/**
 * The event for one of its subscriptions: the first gets the event's own trace id, each further one another, derived
 * from the event's id and the subscription's index, so that the same seed gives the same ids.
 *
 * @param index the index of the subscription among those that want the event
 */
export function underOwnTraceId(event: SandboxEvent, index: number): SandboxEvent {
  if (index === 0) return event;
  const traceId = seededUuid(event.traceId, index);
  return { ...event, traceId, body: withTraceId(event.body, traceId) };
}

/** A flat body has no trace id; only the header has it. */
function withTraceId(body: Uint8Array, traceId: string): Uint8Array {
  const fields = JSON.parse(Buffer.from(body).toString()) as Readonly<Record<string, unknown>>;
  return 'traceId' in fields ? Buffer.from(JSON.stringify({ ...fields, traceId })) : body;
}
