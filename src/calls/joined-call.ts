import type { JoinTerms, JoinedCall } from '../dispatch/handler.ts';
import type { CallRecord } from './timeline.ts';

/** A call as a join sees it: whether all events of the join have arrived, and which have not. */
export function joinedCall(call: CallRecord, { events }: JoinTerms): JoinedCall {
  const missing = events.filter((name) => !call.events.some((event) => event.name === name));
  return { ...call, complete: missing.length === 0, missing };
}
