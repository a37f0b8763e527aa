import type { EventRecord } from '../../../src/store/event-record.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { eventOf, record } from '../parts.ts';

/** Events are added to the index of calls after this many sequence numbers. */
export const batch = 2_048;
/** How many sequence numbers an era has; each era has its own part of the index. */
export const era = 65_536;
/** Two calls that share a key. */
export const [one, other] = ['call-65733456', 'call-127002251'] as const;

/** Makes `sequence` the next sequence number, as if all events before it had existed and were removed. */
export function goTo(store: SqliteStore, sequence: number): void {
  store.database.prepare('update event_totals set last_sequence = ?').run(sequence - 1);
}

/** The last sequence number, and the one up to which events are indexed. */
export const totalsOf = (store: SqliteStore) =>
  store.database
    .prepare('select last_sequence as last, indexed_sequence as indexed from event_totals')
    .get() as { last: number; indexed: number };

/** The rows of the index. */
export const indexOf = (store: SqliteStore) =>
  store.database.prepare('select era, sequence from call_events order by sequence').all();

/** An event of a call, with an agent that only this call has. */
export const ofCall = (callId: string, traceId: string, parts: Partial<EventRecord> = {}) =>
  eventOf(traceId, { callId, facts: { agentId: `agent-of-${callId}`, source: 'body' }, ...parts });

/** Records events at the same time. */
export async function recordAll(store: SqliteStore, records: readonly EventRecord[]): Promise<void> {
  await Promise.all(records.map((event) => record(store, event)));
}

/** What each way of reading finds of a call: trace ids in order of arrival, and the number in the view. */
export async function foundOf(store: SqliteStore, callId: string) {
  const listed = async (agentId?: string) => {
    const { calls } = await store.calls.list({ agentId, limit: 10_000 });
    const found = calls.filter((call) => call.callId === callId);
    return found.map(({ events }) => events.map(({ traceId }) => traceId).toSorted());
  };
  const { events } = await store.events.list({ callId }, { limit: 10_000 });
  return {
    timeline: (await store.calls.eventsOf(callId)).map(({ traceId }) => traceId),
    list: await listed(),
    listOfAgent: await listed(`agent-of-${callId}`),
    search: events.map(({ traceId }) => traceId).toReversed(),
    view: store.database.prepare('select events from calls where call_id = ?').all(callId),
  };
}

/** What `foundOf` must return for a call with these events. */
export function foundWhen(traceIds: readonly string[]) {
  const calls = traceIds.length === 0 ? [] : [traceIds.toSorted()];
  const view = calls.map(({ length }) => ({ events: length }));
  return { timeline: traceIds, list: calls, listOfAgent: calls, search: traceIds, view };
}
