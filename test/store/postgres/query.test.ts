import { describe, expect, test } from 'vitest';
import type { KeptEvent } from '../../../src/store/event-store.ts';
import { bodyIdentity, headerIdentity } from '../../../src/store/event-record.ts';

import { done, eventOf, handlerOf, only, record, recordEnded } from '../parts.ts';
import { eventFilters, fillEvents } from '../conformance/filtering.ts';
import { openedOf } from '../under-test.ts';
import { storeOf } from '../../../src/receiver/database.ts';
import { openedPostgres } from './opened-postgres.ts';

const tracesOf = (events: readonly KeptEvent[]) => events.map(({ traceId }) => traceId);

describe('events in Postgres', () => {
  test('are the same as in SQLite, for every query', async () => {
    const [{ store }, sqlite] = [
      await openedPostgres(),
      await openedOf({ make: (clock) => storeOf(':memory:', clock) }),
    ];
    for (const each of [store, sqlite]) await fillEvents(each);
    const page = { limit: 100 };
    for (const [filter] of eventFilters) {
      const { events, cursor } = await store.events.list(filter, page);
      const expected = await sqlite.events.list(filter, page);
      expect.soft({ filter, events, cursor }).toEqual({ filter, ...expected });
    }
    expect(await store.counts()).toEqual(await sqlite.counts());
    expect(await store.waitingHandlers()).toEqual(await sqlite.waitingHandlers());
    for (const traceId of ['done', 'dead', 'siblings', 'second', 'claimed', 'waiting', 'nothing'])
      expect.soft(await store.events.get(traceId)).toEqual(await sqlite.events.get(traceId));
  });

  test('are found although little of a large inbox matches', async () => {
    const { store, session } = await openedPostgres();
    await record(store, eventOf('old', { eventName: 'Old.Event' }));
    await session.query(
      `insert into ringback.events (sequence, trace_id, event_name, occurred_at, received_at, facts)
       select nextval('ringback.sequences'), 'filler', 'Another.Event', 0, n, '{}' from generate_series(1, 45000) n`,
    );
    const { events } = await store.events.list({ eventName: 'Old.Event' }, { limit: 1 });
    expect(tracesOf(events)).toEqual(['old']);
    const last = await store.events.lastSequence();
    expect(await store.events.stretch({ eventName: 'Old.Event' }, 1, last)).toEqual({
      events: [],
      reached: 20_001,
    });
  });

  test('are found although very many numbers lie between them, of duplicates and of removed events', async () => {
    const { store, session } = await openedPostgres();
    await record(store, eventOf('old', { eventName: 'Old.Event' }));
    await session.query("select setval('ringback.sequences', 1000000000000)");
    await record(store, eventOf('new'));
    const { events } = await store.events.list({ eventName: 'Old.Event' }, { limit: 2 });
    expect(tracesOf(events)).toEqual(['old']);
    const { calls } = await store.calls.list({ agentId: 'none', limit: 2 });
    expect(calls).toEqual([]);
    const last = await store.events.lastSequence();
    const first = await store.events.stretch({ eventName: 'CallHandler.CallEnded' }, 0, last);
    expect(first).toEqual({ events: [], reached: last - 1 });
    const second = await store.events.stretch({ eventName: 'CallHandler.CallEnded' }, first.reached, last);
    expect(second).toMatchObject({ events: [{ traceId: 'new' }], reached: last });
  });

  test('of one trace id are two if one has it in its body; the one that is not done is shown', async () => {
    const { store } = await openedPostgres();
    const same = (identity: string, eventName: string) => eventOf('same', { identity, eventName });
    await recordEnded(store, same(bodyIdentity('same'), 'Done.Event'), done);
    await record(store, same(headerIdentity('same'), 'New.Event'));
    expect(await store.events.get('same')).toMatchObject({ eventName: 'New.Event', state: 'new' });
  });

  test('come in stretches that fit into memory, and none is left out', { tags: 'long' }, async () => {
    const { store } = await openedPostgres();
    const body = Buffer.alloc(3 * 1024 * 1024);
    for (const traceId of ['a', 'b', 'c']) await record(store, eventOf(traceId, { body }));
    const last = await store.events.lastSequence();
    const first = await store.events.stretch({}, 0, last);
    expect(first.events.map(({ traceId }) => traceId)).toEqual(['a', 'b']);
    const second = await store.events.stretch({}, first.reached, last);
    expect(second.events.map(({ traceId }) => traceId)).toEqual(['c']);
    expect(second.reached).toBe(last);
  });

  test.each(['\u{e000}', '%_\\', `'{"a",\\}'`])('are kept with names of any characters: %j', async (odd) => {
    const { store } = await openedPostgres();
    const facts = { agentId: odd, source: 'body' } as const;
    const parts = { eventName: odd, callId: odd, organizationId: odd, facts };
    const event = eventOf(`t${odd}`, { ...parts, headers: { 'x-odd': odd } });
    const handler = handlerOf(odd);
    await recordEnded(store, event, { kind: 'dead', reason: odd }, { handler });
    const kept = { eventName: odd, callId: odd, organizationId: odd, agentId: odd };
    const runs = [{ handler: odd, reason: odd }];
    expect(await store.events.get(`t${odd}`)).toMatchObject({ ...kept, headers: { 'x-odd': odd }, runs });
    const filter = { eventName: odd, callId: odd, agentId: odd, handler: odd, traceId: `t${odd}` };
    const { events } = await store.events.list(filter, { limit: 2 });
    expect(only(events)).toMatchObject({ ...kept, runs });
    const { sequence } = only(events);
    const step = { sequences: [sequence], handler: odd, takesDead: true, takesWaiting: true };
    expect(await store.events.wouldDismiss(step)).toEqual([{ sequence, handler: odd }]);
    // Whoever asks for a group over HTTP writes its id.
    expect(await store.failures.named([odd])).toEqual([]);
  });
});

test(
  'events are counted one by one, and estimated where there are more than a hundred thousand',
  { tags: 'long' },
  async () => {
    const { store, session } = await openedPostgres();
    await fillEvents(store);
    const few = await store.counts();
    expect(few.events).toEqual((await sqliteWithTheSame()).events);
    await session.query(
      `insert into ringback.events
       (sequence, trace_id, event_name, organization_id, agent_id, occurred_at, received_at, facts)
     select 1000 + n, 'many-' || n, 'CallHandler.CallEnded', 'o', 'a', 0, 0, '{}' from generate_series(1, 150000) n`,
    );
    await session.query('analyze ringback.events');
    const many = await store.counts();
    expect(many.events).toMatchObject({ new: few.events.new, open: few.events.open });
    const error = Math.abs(many.events.done - few.events.done - 150_000);
    expect(error).toBeLessThan(15_000);
  },
);

async function sqliteWithTheSame() {
  const store = await openedOf({ make: (clock) => storeOf(':memory:', clock) });
  await fillEvents(store);
  return store.counts();
}
