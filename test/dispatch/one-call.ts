/** Shared by the tests of a call's order: its events, and events of other calls that fill the memory. */
import { bodyOf, deliver, type EventParts } from '../support/deliveries.ts';
import type { Order, Receiver } from '../support/public.ts';

/** The orders in which a call's events follow each other. */
export const orders: readonly Order[] = ['call', 'strict'];

/** The most runs of one handler that wait in memory. */
export const maxWaiting = 1_000;

/** The trace id of a record that a store is given. */
export const traceIdOf = (record: unknown): string => (record as { traceId: string }).traceId;

/** The body of an event of the one call. */
export const eventOf = (traceId: string, payload: EventParts['payload'] = {}): string =>
  bodyOf({ traceId, callId: 'call-1', payload });

/** Delivers events of `count` other calls, one after the other. */
export async function deliverOthers(receiver: Receiver, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await deliver(receiver, bodyOf({ traceId: `other-${index}`, callId: `other-${index}` }));
  }
}
