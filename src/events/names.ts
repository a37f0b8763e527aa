import { closest } from '../errors/closest-name.ts';

/**
 * The names of the events that the platform is known to send, as they are in `eventName`. Names are case-sensitive. The
 * platform may add some at any time, so unknown names are never refused.
 *
 * Source: "Event kinds".
 *
 * @example receiver.on(eventNames.callEnded, (event) => save(event.payload.call_id));
 */
export const eventNames = {
  /** A new call session begins. */
  callStarted: 'CallHandler.CallStarted',
  /** A call completes. */
  callEnded: 'CallHandler.CallEnded',
  /** The AI agent initiates a transfer to a human agent or an external number. */
  callTransferred: 'CallHandler.CallTransferred',
  /** Post-call analysis is ready, as a rule 1 to 30 seconds after the call ends. */
  pcaCompleted: 'callAnalysis.pcaCompleted',
} as const;

/** The name of an event whose shape is known. */
export type KnownEventName = (typeof eventNames)[keyof typeof eventNames];

/** The four known names, in the order of a call's events. */
export const knownEventNames: readonly KnownEventName[] = Object.values(eventNames);

/** The name of an event that neither its body nor its headers name. */
export const unknownEventName = 'unknown';

/** Whether an event of this name has a known shape. */
export function isKnownEventName(name: string): name is KnownEventName {
  return (knownEventNames as readonly string[]).includes(name);
}

/** How many misspelled letters are tolerated: if more differ, it may be the name of an event not known yet. */
const slip = 2;

/** The known name or pattern that an unknown name probably means. Undefined if the name is known or close to none. */
export function meantName(name: string): string | undefined {
  const services = new Set(knownEventNames.map((known) => `${known.slice(0, known.indexOf('.'))}.*`));
  const known = [...knownEventNames, ...services];
  if (name === '*' || known.includes(name)) return undefined;
  const withoutService = knownEventNames.find((full) =>
    full.toLowerCase().endsWith(`.${name.toLowerCase()}`),
  );
  return withoutService ?? closest(name, known, slip);
}

/**
 * What `receiver.on` takes: an event's name, `Service.*` for all events of a service, or `*` for every event. None of
 * them matches a known event whose payload is not what its name promises. Any string is allowed; the known names are
 * listed for editors to offer.
 */
export type EventPattern =
  | KnownEventName
  | 'CallHandler.*'
  | 'callAnalysis.*'
  | '*'
  | (string & Record<never, never>);

/**
 * Whether a pattern matches the name of an event. Names are case-sensitive.
 *
 * @example matches('CallHandler.*', 'CallHandler.CallEnded') // true
 */
export function matches(pattern: string, eventName: string): boolean {
  if (pattern === '*') return true;
  if (pattern.endsWith('.*')) return eventName.startsWith(pattern.slice(0, -1));
  return pattern === eventName;
}

/** Whether a pattern matches no known name, so that its events may never come. */
export function matchesNothing(pattern: string): boolean {
  return !knownEventNames.some((known) => matches(pattern, known));
}
