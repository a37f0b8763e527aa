import type { Handler } from './handling.ts';
import type { CallEvent } from '../events/model.ts';
import type { ClaimedEvent } from '../store/claims.ts';
import { isKnownEventName, matches } from '../events/names.ts';

/**
 * The handlers that an event goes to. A known event whose payload is not what its name promises goes to the fallback
 * instead of typed handlers, which must be able to rely on their types. An event that no handler takes goes to the
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

/**
 * Whether it is certain, without reading the event, that each of its handlers has a stored run: reading it may kill the
 * process, and there would be nothing to do. Whether the payload is what its name promises shows in a stored run of a
 * typed handler; without one, the fallback may be among the handlers, too.
 */
export function isAllStored(
  event: Pick<ClaimedEvent, 'eventName' | 'callId' | 'storedHandlers'>,
  handlers: readonly Handler[],
  fallback: Handler | undefined,
): boolean {
  if (event.storedHandlers.length === 0) return false;
  const isStored = ({ name }: Handler): boolean => event.storedHandlers.includes(name);
  const taking = handlers.filter((handler) => takes(handler, event));
  const isTyped = taking.some((handler) => !handler.join && isStored(handler));
  const possible = fallback && !isTyped ? [...taking, fallback] : taking;
  return possible.every(isStored);
}

/** Whether a handler takes an event. A join takes only events that have a call. */
function takes(
  { patterns, join }: Handler,
  { eventName, callId }: Pick<CallEvent, 'eventName' | 'callId'>,
): boolean {
  if (join) return callId !== undefined && join.events.includes(eventName);
  return patterns.some((pattern) => matches(pattern, eventName));
}
