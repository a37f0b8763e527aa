import type { Handler } from './handler.ts';
import type { CallEvent } from '../events/model.ts';
import { isKnownEventName, matches } from '../events/names.ts';

/**
 * The handlers that an event goes to. A known event whose payload is not what its name promises goes to the fallback
 * instead, because typed handlers must be able to rely on their types. An event that no handler takes goes to the
 * fallback too. Joins get incomplete events as well: they need only an event's name and call.
 */
export function route(
  event: CallEvent,
  handlers: readonly Handler[],
  fallback: Handler | undefined,
): readonly Handler[] {
  const hasPromised = event.issues.length === 0 || !isKnownEventName(event.eventName);
  const matching = handlers.filter((handler) => (hasPromised || handler.join) && takes(handler, event));
  if (hasPromised && matching.length > 0) return matching;
  return fallback ? [...matching, fallback] : matching;
}

/** Whether a handler takes an event. A join takes only events that have a call. */
function takes(
  { patterns, join }: Handler,
  { eventName, callId }: Pick<CallEvent, 'eventName' | 'callId'>,
): boolean {
  if (join) return callId !== undefined && join.events.includes(eventName);
  return patterns.some((pattern) => matches(pattern, eventName));
}
