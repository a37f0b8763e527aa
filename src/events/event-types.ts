import type { CallEvent } from './model.ts';
import { isKnownEventName } from './names.ts';
import type { KnownEventName } from './names.ts';
import type {
  CallEndedPayload,
  CallStartedPayload,
  CallTransferredPayload,
  PcaCompletedPayload,
} from './payloads.ts';

/** The payload of each known event, by the event's name. */
export interface EventMap {
  'CallHandler.CallStarted': CallStartedPayload;
  'CallHandler.CallEnded': CallEndedPayload;
  'CallHandler.CallTransferred': CallTransferredPayload;
  'callAnalysis.pcaCompleted': PcaCompletedPayload;
}

/** Any of the four known events; comparing `eventName` tells them apart. */
export type KnownEvent = { [Name in KnownEventName]: CallEvent<Name, EventMap[Name]> }[KnownEventName];

/**
 * Whether an event is one of the four known ones, with all required fields. Use it in a handler for a pattern: the
 * pattern also matches unknown events, which comparing `eventName` alone can't rule out for the compiler.
 *
 * @example
 * receiver.on('*', (event) => {
 *   if (isKnownEvent(event) && event.eventName === 'CallHandler.CallTransferred') log(event.payload.transfer_to);
 * });
 */
export function isKnownEvent(event: CallEvent): event is KnownEvent {
  return isKnownEventName(event.eventName) && event.issues.length === 0;
}

type KnownEventOfService<Service extends string> = Extract<
  KnownEvent,
  { readonly eventName: `${Service}.${string}` }
>;

type EventOfPattern<Pattern extends string> = string extends Pattern
  ? KnownEvent | CallEvent
  : Pattern extends KnownEventName
    ? CallEvent<Pattern, EventMap[Pattern]>
    : Pattern extends '*'
      ? KnownEvent | CallEvent
      : Pattern extends `${infer Service}.*`
        ? KnownEventOfService<Service> | CallEvent<`${Service}.${string}`>
        : CallEvent<Pattern>;

/**
 * The event that a handler gets for the names it is registered with: the union of what they match.
 *
 * @example
 * EventOf<'CallHandler.CallEnded'>                       // that event: payload.call_id is a string
 * EventOf<['CallHandler.CallEnded', 'CallHandler.CallStarted']> // either
 * EventOf<'CallHandler.*'>                               // three known events, or another of that service
 * EventOf<'Billing.Charged'>                             // CallEvent<'Billing.Charged'>, payload of unknowns
 * EventOf<'*'>                                           // KnownEvent | CallEvent
 */
export type EventOf<Names extends string | readonly string[]> = Names extends readonly string[]
  ? EventOfPattern<Names[number]>
  : Names extends string
    ? EventOfPattern<Names>
    : never;
