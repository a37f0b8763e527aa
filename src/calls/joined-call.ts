import type { JoinTerms, JoinedCall } from '../handling.ts';
import type { CallRecord } from './timeline.ts';

/** A call as a join sees it: whether everything that was waited for has arrived, and what has not. */
export function joinedCall(call: CallRecord, { events }: JoinTerms): JoinedCall {
  const missing = events.filter((name) => !call.events.some((event) => event.name === name));
  return { ...call, complete: missing.length === 0, missing };
}
