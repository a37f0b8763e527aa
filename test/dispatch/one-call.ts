/** What tests of a call's order share: its events, and the others that fill the memory. */
import { bodyOf, deliver } from '../support/deliveries.ts';
import type { Order, Receiver } from '../support/public.ts';

/** The orders in which a call's events follow each other. */
export const orders: readonly Order[] = ['call', 'strict'];

/** What waits of one handler in memory at the most. */
export const mostWaiting = 1_000;

/** The trace id of what a store is given to record. */
export const traceIdOf = (record: unknown): string => (record as { traceId: string }).traceId;

/** The body of an event of the one call. */
export const eventOf = (traceId: string): string => bodyOf({ traceId, callId: 'call-1' });

/** Delivers events of as many other calls, one after the other. */
export async function deliverOthers(receiver: Receiver, count: number): Promise<void> {
  for (let place = 0; place < count; place += 1) {
    await deliver(receiver, bodyOf({ traceId: `other-${place}`, callId: `other-${place}` }));
  }
}
