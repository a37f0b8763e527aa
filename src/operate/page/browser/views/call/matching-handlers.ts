/** Which handlers take an event, as far as its name and the settings of the process that answers tell. */
import type { HandlerState } from '../../api/shapes.ts';

/**
 * The names of the handlers to which an event of a call goes, without joins, whose runs are always stored. The fallback,
 * which has no patterns, takes what no other handler does.
 */
export function matchingHandlers(eventName: string, handlers: readonly HandlerState[]): readonly string[] {
  const known = handlers.filter(({ settings }) => settings !== undefined);
  const matching = known.filter(({ settings }) => settings?.patterns.some((one) => matches(one, eventName)));
  const found =
    matching.length > 0 ? matching : known.filter(({ settings }) => settings?.patterns.length === 0);
  return found.filter(({ settings }) => settings?.join === undefined).map(({ name }) => name);
}

/** The handlers of which it is not known what they take: only other processes have registered them. */
export function handlersOfOthers(handlers: readonly HandlerState[]): readonly string[] {
  const others = handlers.filter(({ isRegistered, settings }) => isRegistered && settings === undefined);
  return others.map(({ name }) => name);
}

/** The rule of the receiver, whose code the page may not import. */
function matches(pattern: string, eventName: string): boolean {
  if (pattern === '*') return true;
  return pattern.endsWith('.*') ? eventName.startsWith(pattern.slice(0, -1)) : pattern === eventName;
}
