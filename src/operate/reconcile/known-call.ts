/** What is known about a call from the platform's answer. */
import { ringbackError } from '../../errors/errors.ts';
import { describe } from '../../errors/option-problems.ts';
import { isRecord } from '../../kit/values.ts';
import { idUnder, readId } from '../../events/names.ts';
import { organizationIdNames } from '../../events/read-event.ts';
import { parseInstant } from '../../kit/time.ts';

export interface KnownCall {
  readonly callId: string;
  readonly agentId: string | undefined;
  readonly organizationId: string | undefined;
  /** From the status; from the times only without one, because a time that contradicts it may be a planned one. */
  readonly hasStarted: boolean;
  readonly hasEnded: boolean;
  readonly startTime: KnownTime | undefined;
  readonly endTime: KnownTime | undefined;
}

/** A time as the platform wrote it, and in milliseconds since 1970. */
export interface KnownTime {
  readonly written: string | number;
  readonly at: number;
}

/** How far the platform's clock may differ from this machine's. */
export const clockTolerance = 60_000;

/** The statuses seen in use; they are not documented. `error` is a call that ended with a failure. */
const states: ReadonlyMap<unknown, Pick<KnownCall, 'hasStarted' | 'hasEnded'>> = new Map([
  ['registered', { hasStarted: false, hasEnded: false }],
  ['ongoing', { hasStarted: true, hasEnded: false }],
  ['ended', { hasStarted: true, hasEnded: true }],
  ['error', { hasStarted: true, hasEnded: true }],
]);

/**
 * Reads an answer about a call. The names of its fields were seen in use; they are not documented.
 *
 * @throws RingbackError `call_unreadable` or `call_differs`: nothing can be learned about the call from this answer
 */
export function knownCallOf(
  { callId, agentId }: { readonly callId: string; readonly agentId: string | undefined },
  answer: unknown,
  now: number,
): KnownCall {
  if (!isRecord(answer))
    throw ringbackError('call_unreadable', {
      callId,
      expected: 'an object with call_status, call_start_time and call_end_time',
      found: `the answer is ${describe(answer)}`,
    });
  requireSameCall('calls.get()', callId, [answer['_id'], answer['call_id']]);
  const times = {
    startTime: timeIn(answer['call_start_time'], now),
    endTime: timeIn(answer['call_end_time'], now),
  };
  return {
    callId,
    agentId: idUnder(answer, ['ai_agent_id', 'agent_id']) ?? readId(agentId),
    organizationId: idUnder(answer, organizationIdNames),
    ...stateOf(callId, answer['call_status'], times),
    ...times,
  };
}

/** @throws RingbackError `call_differs` if one of the ids is another call's */
export function requireSameCall(reader: string, callId: string, named: readonly unknown[]): void {
  const other = named.map(readId).find((id) => id !== undefined && id !== callId);
  if (other !== undefined) throw ringbackError('call_differs', { reader, callId, other });
}

function stateOf(
  callId: string,
  status: unknown,
  { startTime, endTime }: Pick<KnownCall, 'startTime' | 'endTime'>,
): Pick<KnownCall, 'hasStarted' | 'hasEnded'> {
  if (status !== undefined && status !== null) {
    const state = states.get(status);
    if (state) return state;
    const expected = 'a call_status that is registered, ongoing, ended or error';
    throw ringbackError('call_unreadable', { callId, expected, found: `it is ${describe(status)}` });
  }
  const hasEnded = endTime !== undefined;
  if (hasEnded || startTime !== undefined) return { hasStarted: true, hasEnded };
  const expected = 'a call_status, or a start or end time';
  throw ringbackError('call_unreadable', { callId, expected, found: 'the answer has neither' });
}

/** Zero stands for a missing time, and a time in the future hasn't happened yet. */
function timeIn(value: unknown, now: number): KnownTime | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const at = parseInstant(value)?.milliseconds ?? 0;
  return at > 0 && at <= now + clockTolerance ? { written: value, at } : undefined;
}
