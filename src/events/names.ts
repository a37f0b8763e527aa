/** The names of events, and ids: how both are read and compared. */
import { closest } from '../errors/closest-name.ts';
import { isStorable } from '../kit/values.ts';
import type { Headers } from './model.ts';

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

const services = new Set(knownEventNames.map((known) => `${known.slice(0, known.indexOf('.'))}.*`));

/** The known name or pattern that an unknown name probably means. Undefined if the name is known or close to none. */
export function meantName(
  name: string,
  known: readonly string[] = [...knownEventNames, ...services],
): string | undefined {
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

/**
 * Whether a subscription to it is known to get events. The platform's document shows full names and `*` for all, but no
 * `Service.*`, which only handlers have.
 */
export function isKnownToSubscriptions(event: string): boolean {
  return event === '*' || isKnownEventName(event);
}

/** The longest id that is read. Ids are keys of the inbox and are logged: without a bound, a body could fill both. */
export const maxId = 512;

/**
 * Whether a text is an id. Blank texts are none, nor are texts of more than 512 UTF-16 units, or with U+0000 or half a
 * surrogate pair: see `isStorable`.
 */
export function isId(text: string): boolean {
  return text.length <= maxId && text.trim() !== '' && isStorable(text);
}

/** An id as a string, or undefined if there is none. Numbers become strings. */
export function readId(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && isId(value) ? value : undefined;
}

/** The first id among the fields with these names. */
export function idUnder(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const id = readId(fields[name]);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** The value of a header, whose name is given in lower case; the first value if there are several. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
