import type { Handler } from '../handling.ts';
import type { CallEvent } from '../model.ts';
import { isKnownEventName, matches } from '../events/names.ts';

/**
 * The handlers that an event goes to. An event that misses what its name promises goes to the fallback alone:
 * a typed handler must be able to rely on its types. So does one that no handler takes. Joins wait for events by
 * name and call only, and their call tells of such an event too.
 */
export function route(
  event: CallEvent,
  handlers: readonly Handler[],
  fallback: Handler | undefined,
): readonly Handler[] {
  const hasPromised = event.issues.length === 0 || !isKnownEventName(event.eventName);
  const takers = handlers.filter((handler) => (hasPromised || handler.join) && takes(handler, event));
  if (hasPromised && takers.length > 0) return takers;
  return fallback ? [...takers, fallback] : takers;
}

/** A join is about a call: an event without one is none of its. */
function takes({ patterns, join }: Handler, { eventName, callId }: CallEvent): boolean {
  if (join) return callId !== undefined && join.events.includes(eventName);
  return patterns.some((pattern) => matches(pattern, eventName));
}
