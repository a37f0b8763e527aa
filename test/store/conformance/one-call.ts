/** A call whose order a store must keep. */
import type { Store } from '../../../src/store/store.ts';
import { dueAt, eventOf, handlerOf, recordEnded } from '../parts.ts';

/** A handler whose runs wait for the earlier ones of their call. */
export const strict = handlerOf('handler', { order: 'strict' });
/** The same handler, whose runs wait for none. */
export const none = handlerOf('handler', { order: 'none' });

/** A handler of each order, by its name. */
export const orders = (['none', 'call', 'strict'] as const).map((order) => handlerOf(order, { order }));

/** An event of the call. */
export const ofCall = (traceId: string) => eventOf(traceId, { callId: 'call-1' });

/** Stores a run for each event of the call, due at its time; an attempt of each has failed. */
export async function storeDue(
  store: Store,
  times: Readonly<Record<string, number>>,
  attempts = 1,
): Promise<void> {
  for (const [traceId, at] of Object.entries(times)) {
    await recordEnded(store, ofCall(traceId), dueAt(at), { attempts });
  }
}

/** The same, but none has begun. */
export const storeUnbegun = (store: Store, times: Readonly<Record<string, number>>) =>
  storeDue(store, times, 0);
