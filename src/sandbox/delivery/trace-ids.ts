import { seededUuid } from '../calls/seeded-random.ts';
import type { SandboxEvent } from '../model.ts';

/**
 * The event as one of its subscriptions gets it: the first under the event's own trace id, each further one under
 * another. The ids follow from the event's and the subscription's place, so that the same seed gives the same ones.
 *
 * @param index The place of the subscription among those that want the event, from 0
 */
export function underOwnTraceId(event: SandboxEvent, index: number): SandboxEvent {
  if (index === 0) return event;
  const traceId = seededUuid(event.traceId, index);
  return { ...event, traceId, body: withTraceId(event.body, traceId) };
}

/** A flat body has no trace id: it is in the header only. */
function withTraceId(body: Uint8Array, traceId: string): Uint8Array {
  const fields = JSON.parse(Buffer.from(body).toString()) as Readonly<Record<string, unknown>>;
  return 'traceId' in fields ? Buffer.from(JSON.stringify({ ...fields, traceId })) : body;
}
