import type { EventRecord } from '../../src/store/event-record.ts';
import type { ClaimedEvent, ClaimedRun } from '../../src/store/claims.ts';
import type { RunState, Settlement, Store } from '../../src/store/store.ts';

/** The present of the store's tests, in milliseconds since 1970. */
export const presentTime = 3_000;

/** An event as the intake records it. */
export function eventOf(traceId: string, parts: Partial<EventRecord> = {}): EventRecord {
  return {
    traceId,
    identities: [`body:${traceId}`],
    eventName: 'CallHandler.CallEnded',
    callId: `call-of-${traceId}`,
    organizationId: undefined,
    occurredAt: 1_000,
    receivedAt: 2_000,
    headers: { 'x-webhook-traceid': traceId },
    facts: { source: 'body' },
    body: Buffer.from(`{"traceId":"${traceId}"}`),
    ...parts,
  };
}

/** The settlement of a claimed run, or of a run of a claimed event. */
export function settlementOf(
  claimed: ClaimedEvent | ClaimedRun,
  state: RunState,
  parts: Partial<Settlement> = {},
): Settlement {
  const isStored = 'handler' in claimed;
  return {
    sequence: claimed.sequence,
    callId: claimed.callId,
    handler: isStored ? claimed.handler : 'handler',
    stored: isStored,
    last: !isStored,
    attempts: 1,
    state,
    isJoin: false,
    isStrict: false,
    now: presentTime,
    ...parts,
  };
}

export const done: RunState = { kind: 'done' };
export const dead: RunState = { kind: 'dead', reason: 'given up' };
export const dueAt = (at: number): RunState => ({ kind: 'due', at, reason: 'failed' });

/** Records events in this order and claims them all. */
export async function claimedOf(store: Store, ...records: readonly EventRecord[]): Promise<ClaimedEvent[]> {
  for (const record of records) await store.record(record);
  return [...(await store.claimEvents(records.length))];
}

/** The only item in a list. */
export function only<Item>(items: readonly Item[]): Item {
  const [item, ...others] = items;
  if (item === undefined || others.length > 0) throw new Error(`There are ${items.length}, not one.`);
  return item;
}
