// @module-tag long
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { callRecordOf } from '../../../src/calls/timeline.ts';
import { callEvent, listEvent, listFilter } from '../../calls/arbitrary-events.ts';
import { viewRowOf } from '../../calls/view-row.ts';
import { expectListed } from '../call-pages.ts';
import { eventOf, record } from '../parts.ts';
import { openedPostgres } from './opened-postgres.ts';

type ViewRow = Readonly<Record<string, unknown>>;

describe('the view "calls" in Postgres', () => {
  test('has one row a call, which says what the record says, column by column', async () => {
    let runs = 0;
    const { store, session } = await openedPostgres();
    await fc.assert(
      fc.asyncProperty(fc.array(callEvent, { minLength: 1, maxLength: 9 }), async (events) => {
        runs += 1;
        await session.query('delete from ringback.events');
        for (const [index, parts] of events.entries()) {
          await record(store, eventOf(parts.traceId, { ...parts, identity: `${runs}-${index}` }));
        }
        const callIds = [...new Set(events.map(({ callId }) => callId))];
        const expected = await Promise.all(
          callIds.map(async (callId) => viewRowOf(callRecordOf(callId, await store.calls.eventsOf(callId)))),
        );
        const rows = await session.query<ViewRow>('select * from ringback.calls');
        expect(new Set(rows)).toEqual(new Set(expected));
      }),
      { numRuns: 100 },
    );
  });

  test('leaves out events without a call', async () => {
    const { store, session } = await openedPostgres();
    await record(store, eventOf('t-1', { callId: undefined }));
    expect(await session.query('select * from ringback.calls')).toEqual([]);
  });
});

describe('the list of calls in Postgres', () => {
  test('is every call that matches, by its first event, the latest first, in full pages', async () => {
    let runs = 0;
    const { store, session } = await openedPostgres();
    await fc.assert(
      fc.asyncProperty(fc.array(listEvent, { maxLength: 16 }), listFilter, async (events, wanted) => {
        runs += 1;
        await session.query('delete from ringback.events');
        for (const [index, { agentId, ...parts }] of events.entries()) {
          const identity = `${runs}-${index}`;
          await record(
            store,
            eventOf(`t-${index}`, { ...parts, identity, facts: { agentId, source: 'body' } }),
          );
        }
        await expectListed(store, events, wanted);
      }),
      { numRuns: 60 },
    );
  });

  test('continues if more calls are skipped than one step computes', async () => {
    const { store } = await openedPostgres();
    const agentId = 'agent-1';
    await record(store, eventOf('old', { facts: { agentId, status: 'x', source: 'body' } }));
    await record(store, eventOf('old-2', { callId: 'call-of-old', eventName: 'CallHandler.CallStarted' }));
    await Promise.all(Array.from({ length: 250 }, (_, index) => record(store, eventOf(`t-${index}`))));
    const { calls, cursor } = await store.calls.list({ agentId, limit: 5 });
    expect(calls.map(({ callId }) => callId)).toEqual(['call-of-old']);
    expect(cursor).toBeUndefined();
    expect((await store.calls.list({ status: 'analysed', limit: 5 })).calls).toEqual([]);
    expect((await store.calls.list({ limit: 300 })).calls).toHaveLength(251);
  });
});
