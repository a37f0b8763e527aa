/** What every store must find, page by page, when it is asked for some of its events or calls. */
import { describe, expect, test } from 'vitest';
import type { CallRecord } from '../../../src/calls/timeline.ts';
import type { CallFilter } from '../../../src/store/call-store.ts';
import type { EventFilter, KeptEvent } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { pagesOf } from '../call-pages.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  dead,
  done,
  dueAt,
  endOf,
  endSiblings,
  eventOf,
  failureOf,
  handlerOf,
  only,
  record,
  recordEnded,
} from '../parts.ts';

/** Runs this part of the suite. */
export function describeFiltering(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: filtering`, () => {
    test('every filter of events finds those that meet all of it, and no others', async () => {
      const store = await opened();
      await fillEvents(store);
      const last = await store.events.lastSequence();
      for (const [filter, expected] of eventFilters) {
        const { events } = await store.events.list(filter, { limit: 100 });
        expect.soft({ filter, found: tracesOf(events) }).toEqual({ filter, found: expected.toReversed() });
        const stretch = await store.events.stretch(filter, 0, last);
        const found = stretch.events.map(({ traceId }) => traceId);
        expect
          .soft({ filter, found, reached: stretch.reached })
          .toEqual({ filter, found: expected, reached: last });
      }
    });

    test('every filter of events finds the same page by page, each page full but the last', async () => {
      const store = await opened();
      await fillEvents(store);
      for (const [filter, expected] of eventFilters) {
        for (const limit of [1, 2, 5]) {
          const pages = await eventPagesOf(store, filter, limit);
          expect.soft({ filter, found: pages.flat() }).toEqual({ filter, found: expected.toReversed() });
          const full = pages.slice(0, -1).filter(({ length }) => length === limit);
          expect
            .soft({ filter, limit, full: full.length })
            .toEqual({ filter, limit, full: pages.length - 1 });
        }
      }
    });

    test('a page begins where the last one ended, also if more has arrived since', async () => {
      const store = await opened();
      for (const traceId of ['a', 'b', 'c']) await record(store, eventOf(traceId));
      const first = await store.events.list({}, { limit: 2 });
      await record(store, eventOf('later'));
      const second = await store.events.list({}, { limit: 2, cursor: first.cursor });
      expect([first, second].map(({ events }) => tracesOf(events))).toEqual([['c', 'b'], ['a']]);
    });

    test('a cursor that its list never gave is refused', async () => {
      const store = await opened();
      for (const traceId of ['a', 'b']) await record(store, eventOf(traceId, { callId: traceId }));
      const cursors = {
        events: (await store.events.list({}, { limit: 1 })).cursor ?? '',
        calls: (await store.calls.list({ limit: 1 })).cursor ?? '',
      };
      const lists = {
        events: (cursor: string) => store.events.list({}, { limit: 1, cursor }),
        calls: (cursor: string) => store.calls.list({ limit: 1, cursor }),
        quarantine: (cursor: string) => store.quarantine.list({ limit: 1, cursor }),
        audit: (cursor: string) => store.audit.list({ limit: 1, cursor }),
      };
      for (const [listed, list] of Object.entries(lists)) {
        const others = Object.entries(cursors).flatMap(([other, cursor]) => (other === listed ? [] : cursor));
        for (const cursor of ['', 'x', '1', '9'.repeat(400), ...others, `${others[0]}=`]) {
          const refusal = {
            code: 'cursor_invalid',
            message: expect.stringContaining(`cursor in ${listed}.list`),
          };
          await expect.soft(list(cursor)).rejects.toMatchObject(refusal);
        }
      }
      for (const cursor of [`${cursors.events}=`, ` ${cursors.events}`, cursors.events.slice(0, -1)])
        await expect.soft(lists.events(cursor)).rejects.toMatchObject({ code: 'cursor_invalid' });
      expect(tracesOf((await lists.events(cursors.events)).events)).toEqual(['a']);
      expect(idsOf((await lists.calls(cursors.calls)).calls)).toEqual(['a']);
    });

    test('a stretch of events begins after one and ends with another', async () => {
      const store = await opened();
      await fillEvents(store);
      const all = await store.events.stretch({}, 0, await store.events.lastSequence());
      const [, second, , fourth] = all.events.map(({ sequence }) => sequence);
      if (second === undefined || fourth === undefined) throw new Error('four events are there');
      const { events, reached } = await store.events.stretch({}, second, fourth);
      expect({ found: events.map(({ traceId }) => traceId), reached }).toEqual({
        found: everyEvent.slice(2, 4),
        reached: fourth,
      });
    });

    test('every filter of calls finds those that meet all of it, in full pages, by their first events', async () => {
      const store = await opened();
      await fillCalls(store);
      for (const [filter, expected] of callFilters) {
        for (const limit of [1, 2, 100]) {
          const pages = await pagesOf(store, { ...filter, limit });
          expect.soft({ filter, found: pages.flatMap(idsOf) }).toEqual({ filter, found: expected });
          const count = Math.max(1, Math.ceil(expected.length / limit));
          expect.soft({ filter, limit, pages: pages.length }).toEqual({ filter, limit, pages: count });
        }
      }
      const { calls } = await store.calls.list({ agentId: 'agent-2', limit: 9 });
      expect(only(calls).events.map(({ traceId }) => traceId)).toEqual(['second', 'second again']);
    });
  });
}

const tracesOf = (events: readonly KeptEvent[]) => events.map(({ traceId }) => traceId);
const idsOf = (calls: readonly CallRecord[]) => calls.map(({ callId }) => callId);

async function eventPagesOf(store: Store, filter: EventFilter, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await store.events.list(filter, { limit, cursor });
    pages.push(tracesOf(page.events));
    ({ cursor } = page);
  } while (cursor !== undefined);
  return pages;
}

/** Records events of every state, whose runs are of every state. */
export async function fillEvents(store: Store): Promise<void> {
  const [other, strict] = [handlerOf('other'), handlerOf('strict', { order: 'strict' })];
  await recordEnded(store, eventOf('done'), done);
  const failure = failureOf('no answer');
  await recordEnded(store, eventOf('dead', { callId: 'call-1', receivedAt: 2_100 }), dead, { failure });
  await recordEnded(store, eventOf('agent', { facts: { agentId: 'agent-1', source: 'body' } }), dead, {
    handler: other,
    failure: { ...failure, group: 'h' },
  });
  await recordEnded(store, eventOf('due', { callId: 'call-1', organizationId: 'org' }), dueAt(9_000), {
    failure,
  });
  await recordEnded(store, eventOf('due-of-other'), dueAt(9_000), { handler: other });
  // It has failed, but is done: no filter for failures finds it.
  await recordEnded(store, eventOf('mended'), dueAt(0), { handler: handlerOf('mended'), failure });
  await store.settle(only(await claimDue(store, handlerOf('mended'))), endOf(done, { attempts: 2 }));
  const siblings = only(
    await claimedOf(store, eventOf('siblings', { eventName: 'CallHandler.CallStarted' })),
  );
  await endSiblings(store, siblings, { a: done, b: undefined });
  const first = await claimedRun(store, eventOf('first', { callId: 'call-2' }), strict);
  const second = await claimedRun(store, eventOf('second', { callId: 'call-2' }), strict);
  await store.settle(first, endOf(dueAt(0)));
  await store.requeue(second);
  await claimDue(store, strict);
  await store.record(eventOf('claimed', { callId: undefined }), true).claimed;
  await record(store, eventOf('waiting', { receivedAt: 2_200 }));
}

const everyEvent = [
  'done',
  'dead',
  'agent',
  'due',
  'due-of-other',
  'mended',
  'siblings',
  'first',
  'second',
  'claimed',
  'waiting',
];
const without = (...left: readonly string[]) => everyEvent.filter((traceId) => !left.includes(traceId));

/** What is asked about these events, and what is found, in order of arrival. */
export const eventFilters: readonly (readonly [EventFilter, readonly string[]])[] = [
  [{}, everyEvent],
  [{ eventName: 'CallHandler.CallStarted' }, ['siblings']],
  [{ eventName: 'CallHandler.CallEnded' }, without('siblings')],
  [{ eventName: 'callhandler.callended' }, []],
  [{ callId: 'call-1' }, ['dead', 'due']],
  [{ callId: 'call' }, []],
  [{ callId: 'call-1', state: 'dead' }, ['dead']],
  [{ agentId: 'agent-1' }, ['agent']],
  [{ state: 'new' }, ['siblings', 'claimed', 'waiting']],
  [{ state: 'open' }, ['due', 'due-of-other', 'first', 'second']],
  [{ state: 'done' }, ['done', 'dead', 'agent', 'mended']],
  [{ state: 'dead' }, ['dead', 'agent']],
  [{ state: 'dead', agentId: 'nobody' }, []],
  [{ state: 'dead', eventName: 'CallHandler.CallStarted' }, []],
  [{ handler: 'handler' }, ['dead', 'due']],
  [{ handler: 'other' }, ['agent', 'due-of-other']],
  [{ handler: 'other', state: 'dead' }, ['agent']],
  [{ handler: 'strict', state: 'open' }, ['first', 'second']],
  [{ handler: 'nobody' }, []],
  [{ since: 2_100 }, ['dead', 'waiting']],
  [{ until: 2_100 }, without('dead', 'waiting')],
  [{ since: 2_100, until: 2_200 }, ['dead']],
  [{ since: 2_201 }, []],
  [{ traceId: 'due' }, ['due']],
  [{ traceId: 'du' }, []],
  [{ traceId: '%' }, []],
  [{ traceId: '_' }, []],
  [{ failure: 'g' }, ['dead', 'due']],
  [{ failure: 'g', state: 'open' }, ['due']],
  [{ failure: 'h' }, ['agent']],
  [{ failure: 'unknown' }, []],
];

/** Records the events of four calls: `first` is over, `second` has begun, `third` was transferred, `fourth` is analysed. */
async function fillCalls(store: Store): Promise<void> {
  const ofCall = async (
    callId: string,
    traceId: string,
    event: string,
    receivedAt: number,
    agentId?: string,
  ) => {
    const facts = { agentId, source: 'body' } as const;
    await record(store, eventOf(traceId, { callId, eventName: event, receivedAt, facts }));
  };
  await ofCall('call-first', 'first', 'CallHandler.CallEnded', 1_000, 'agent-1');
  await ofCall('call-second', 'second', 'CallHandler.CallStarted', 2_000, 'agent-2');
  await record(store, eventOf('of no call', { callId: undefined, receivedAt: 2_500 }));
  await ofCall('call-third', 'third', 'CallHandler.CallStarted', 3_000, 'agent-1');
  await ofCall('call-fourth', 'fourth', 'CallHandler.CallStarted', 4_000);
  await ofCall('call-third', 'third again', 'CallHandler.CallTransferred', 5_000);
  await ofCall('call-fourth', 'fourth again', 'callAnalysis.pcaCompleted', 5_000);
  // The call stays where its first event is.
  await ofCall('call-second', 'second again', 'CallHandler.CallStarted', 6_000, 'agent-2');
}

/** What is asked about these calls, and what is found. */
const callFilters: readonly (readonly [Omit<CallFilter, 'limit'>, readonly string[]])[] = [
  [{}, ['call-fourth', 'call-third', 'call-second', 'call-first']],
  [{ agentId: 'agent-1' }, ['call-third', 'call-first']],
  [{ agentId: 'agent-2' }, ['call-second']],
  [{ agentId: 'agent' }, []],
  [{ status: 'in_progress' }, ['call-second']],
  [{ status: 'ended' }, ['call-first']],
  [{ status: 'transferred' }, ['call-third']],
  [{ status: 'analysed' }, ['call-fourth']],
  [{ status: 'ended', agentId: 'agent-2' }, []],
  [{ since: 2_000 }, ['call-fourth', 'call-third', 'call-second']],
  [{ until: 2_000 }, ['call-first']],
  [{ since: 2_000, until: 4_000 }, ['call-third', 'call-second']],
  [{ since: 2_000, until: 4_000, agentId: 'agent-1', status: 'transferred' }, ['call-third']],
  [{ since: 4_001 }, []],
];
