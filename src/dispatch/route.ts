import type { Handler } from '../handling.ts';
import type { CallEvent } from '../model.ts';
import { isKnownEventName, matches } from '../events/names.ts';

/**
 * The handlers that an event goes to. An event that misses what its name promises goes to the fallback alone:
 * a typed handler must be able to rely on its types. So does one that no handler takes.
 */
export function route(
  event: CallEvent,
  handlers: readonly Handler[],
  fallback: Handler | undefined,
): readonly Handler[] {
  const hasPromised = event.issues.length === 0 || !isKnownEventName(event.eventName);
  const takers = hasPromised ? handlers.filter((handler) => takes(handler, event)) : [];
  if (takers.length > 0) return takers;
  return fallback ? [fallback] : [];
}

/** A join is about a call: an event without one is none of its. */
function takes({ patterns, join }: Handler, { eventName, callId }: CallEvent): boolean {
  if (join) return callId !== undefined && join.events.includes(eventName);
  return patterns.some((pattern) => matches(pattern, eventName));
}
