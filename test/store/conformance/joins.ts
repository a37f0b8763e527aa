/** What every store must do for joins, which wait for several events of a call. */
import { describe, expect, test } from 'vitest';
import type { JoinTerms } from '../../../src/dispatch/handler.ts';
import type { JoinLookBack } from '../../../src/store/call-store.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms } from '../../../src/store/claims.ts';
import type { EventRecord } from '../../../src/store/event-record.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  done,
  endOf,
  eventOf,
  handlerOf,
  only,
  presentTime,
  record,
  runOf,
} from '../parts.ts';

const within = 60_000;
const terms: JoinTerms = { events: ['Started', 'Ended'], within, runsAgain: true };
const join = joinOf();
const timeIsOver = presentTime + within;

/** Runs this part of the suite. */
export function describeJoins(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: joins`, () => {
    test('a join waits for an event that is missing until its time is over', async () => {
      const store = await opened();
      expect(await arrive(store, await claimed(store, 'Started'))).toBe('settled');
      expect(await store.nextDue('join')).toBe(timeIsOver);
      expect(await claimDue(store, join, { now: timeIsOver - 1 })).toEqual([]);
      expect(await claimDue(store, join, { now: timeIsOver })).toMatchObject([
        { callId: 'call-1', handler: 'join', attempts: 0 },
      ]);
    });

    test('its time begins with the first of its events, although it is opened by another', async () => {
      const store = await opened();
      const early = { receivedAt: presentTime - 1_000 };
      await store.finish(await claimed(store, 'Started', early));
      await store.finish(await claimed(store, 'Another', { receivedAt: 1 }));
      await arrive(store, await claimed(store, 'Started'));
      expect(await store.nextDue('join')).toBe(timeIsOver - 1_000);
    });

    test('the last event that is missing makes it due at once, once for the call', async () => {
      const store = await opened();
      await arrive(store, await claimed(store, 'Ended'));
      await arrive(store, await claimed(store, 'Ended', { callId: 'call-2' }));
      await arrive(store, await claimed(store, 'Started', { callId: 'call-2' }));
      expect(await callsDue(store)).toEqual(['call-2']);
      await arrive(store, await claimed(store, 'Ended'));
      expect(await callsDue(store)).toEqual([]);
      await arrive(store, await claimed(store, 'Started'));
      expect(await callsDue(store)).toEqual(['call-1']);
      expect(await store.nextDue('join')).toBeUndefined();
    });

    test('an arrival ends the claim on its event if it is the last run under it', async () => {
      const store = await opened();
      const siblings = async () => store.runsOf(await claimed(store, 'Started'), [join, handlerOf()]);
      const [arriving, waiting] = await siblings();
      const [later, settling] = await siblings();
      if (!arriving || !waiting || !later || !settling) throw new Error('nothing was claimed');
      expect(await store.requeue(arriving)).toBe('settled');
      expect(await store.settle(waiting, endOf(done))).toBe('settled');
      expect(await store.settle(settling, endOf(done))).toBe('settled');
      expect((await store.counts()).events.new).toBe(1);
      expect(await store.requeue(later)).toBe('settled');
      expect((await store.counts()).events.new).toBe(0);
      expect(await store.requeue(later)).toBe('lost');
    });

    test('its run begins only when it is stored', async () => {
      const store = await opened();
      const arriving = runOf(store, await claimed(store, 'Started'), join);
      expect(store.mayRun(arriving)).toBe(false);
      await store.requeue(arriving);
      expect(store.mayRun(only(await claimDue(store, join, { now: timeIsOver })))).toBe(true);
    });

    test('its stored run that goes back before it has begun is no arrival, and is due again at once', async () => {
      const store = await opened();
      await arrive(store, await claimed(store, 'Started'));
      expect(await store.requeue(only(await claimDue(store, join, { now: timeIsOver })))).toBe('settled');
      expect(await callsDue(store)).toEqual(['call-1']);
    });

    test('an arrival of an event that is no longer claimed is lost, and opens nothing', async () => {
      const store = await opened();
      const event = await claimed(store, 'Started');
      await store.retention.eraseEvents([event.sequence], 0);
      expect(await arrive(store, event)).toBe('lost');
      expect(await store.nextDue('join')).toBeUndefined();
    });

    test('sees every event of its call in order of arrival', async () => {
      const store = await opened();
      const facts = { source: 'body', agentId: 'agent-1' } as const;
      await arrive(store, await claimed(store, 'Ended', { facts }));
      await store.finish(await claimed(store, 'Another'));
      await claimed(store, 'Started', { callId: 'call-2' });
      await arrive(store, await claimed(store, 'Started'));
      const run = only(await claimDue(store, join));
      const view = await see(store, run);
      expect(view).toMatchObject({ isSettled: false });
      expect(view?.events.map(({ eventName }) => eventName)).toEqual(['Ended', 'Another', 'Started']);
      expect(view?.events[0]).toMatchObject({ occurredAt: 1_000, receivedAt: presentTime, facts });
      expect(await see(store, run)).toMatchObject({ isSettled: false });
    });

    test('has nothing to do for an event that came while its attempts failed, once it has seen that one, too', async () => {
      const store = await opened();
      await arrive(store, await claimed(store, 'Started'));
      const run = only(await claimDue(store, join, { now: timeIsOver }));
      expect(await see(store, run)).toMatchObject({ isSettled: false });
      await arrive(store, await claimed(store, 'Ended'));
      expect(await see(store, run)).toMatchObject({ isSettled: false });
      await store.settle(run, endOf(done));
      expect(await see(store, only(await claimDue(store, join)))).toMatchObject({ isSettled: true });
    });

    test('runs again for an event that comes after it was called, and only once', async () => {
      const store = await opened();
      const events = ['Started', 'Ended', 'Analysed'];
      await arrive(store, await claimed(store, 'Started'), { events });
      await runJoin(store, timeIsOver, events);
      await arrive(store, await claimed(store, 'Started'), { events });
      expect(await callsDue(store)).toEqual([]);
      await arrive(store, await claimed(store, 'Ended'), { events });
      expect(await runJoin(store, presentTime, events)).toMatchObject({ isSettled: false });
      await arrive(store, await claimed(store, 'Analysed'), { events });
      expect(await store.nextDue('join')).toBeUndefined();
    });

    test('runs no more for a late event if it was not asked to', async () => {
      const store = await opened();
      await arrive(store, await claimed(store, 'Started'));
      await runJoin(store, timeIsOver);
      await arrive(store, await claimed(store, 'Ended'), { runsAgain: false });
      expect(await store.nextDue('join')).toBeUndefined();
    });

    test('an event that it saw before that event arrived is not late', async () => {
      const store = await opened();
      await arrive(store, await claimed(store, 'Started'));
      const event = await claimed(store, 'Ended');
      await runJoin(store, timeIsOver);
      await arrive(store, event);
      expect(await store.nextDue('join')).toBeUndefined();
    });

    test('says what it waits for in a call, what is missing, and what it has seen', async () => {
      const store = await opened();
      expect(await store.calls.joinsOf('call-1')).toEqual([]);
      await arrive(store, await claimed(store, 'Started'));
      await arrive(store, await claimed(store, 'Started', { callId: 'call-2' }));
      const of = { handler: 'join', events: ['Started', 'Ended'] };
      expect(await store.calls.joinsOf('call-1')).toEqual([{ ...of, missing: ['Ended'], seen: undefined }]);
      await arrive(store, await claimed(store, 'Ended'));
      expect(await store.calls.joinsOf('call-1')).toEqual([{ ...of, missing: [], seen: undefined }]);
      await see(store, only(await claimDue(store, join)));
      expect(await store.calls.joinsOf('call-1')).toEqual([{ ...of, missing: [], seen: of.events }]);
      expect(await store.calls.joinsOf('call-2')).toMatchObject([{ missing: ['Ended'] }]);
    });

    test('looking back opens it for calls whose events came when it was not there', async () => {
      const store = await opened();
      const handled = async (eventName: string, parts: Partial<EventRecord>) =>
        store.finish(await claimed(store, eventName, parts));
      await handled('Another', { callId: 'of no interest' });
      await handled('Started', { callId: 'too early', receivedAt: presentTime - 1 });
      await handled('Started', { callId: undefined });
      await handled('Started', { callId: 'waiting' });
      await handled('Started', { callId: 'complete' });
      await handled('Ended', { callId: 'complete' });
      await handled('Started', { callId: 'open already' });
      await arrive(store, await claimed(store, 'Started', { callId: 'open already' }));
      await record(store, recordOf('Started', { callId: 'not claimed yet' }));
      await lookBack(store);
      await lookBack(store);
      expect(await callsDue(store)).toEqual(['complete']);
      const waiting = await claimDue(store, join, { now: timeIsOver });
      expect(waiting).toHaveLength(2);
      expect(new Set(waiting.map(({ callId }) => callId))).toEqual(new Set(['open already', 'waiting']));
      expect(await store.nextDue('join')).toBeUndefined();
    });

    test('looking back continues in steps up to the latest event', { tags: 'long' }, async () => {
      const store = await opened();
      const others = Array.from({ length: 1_200 }, () => recordOf('Another', { callId: 'of no interest' }));
      const records = [recordOf('Started', { callId: 'first' }), ...others];
      await Promise.all(records.map((event) => record(store, event)));
      await record(store, recordOf('Started', { callId: 'last' }));
      const events = await store.claimEvents(2_000);
      await Promise.all(events.map((event) => store.finish(event)));
      await lookBack(store);
      const runs = await claimDue(store, join, { now: timeIsOver });
      expect(runs.map(({ callId }) => callId)).toEqual(['first', 'last']);
    });
  });
}

let recorded = 0;

function recordOf(eventName: string, parts: Partial<EventRecord> = {}): EventRecord {
  recorded += 1;
  return eventOf(`trace-${recorded}`, { eventName, callId: 'call-1', receivedAt: presentTime, ...parts });
}

const claimed = async (store: Store, eventName: string, parts: Partial<EventRecord> = {}) =>
  only(await claimedOf(store, recordOf(eventName, parts)));

function joinOf(parts: Partial<JoinTerms> = {}): HandlerTerms {
  return handlerOf('join', { join: { ...terms, ...parts } });
}

/** Has an event arrive for the join of its call. */
function arrive(store: Store, event: ClaimedEvent, parts: Partial<JoinTerms> = {}) {
  return store.requeue(runOf(store, event, joinOf(parts)));
}

const see = (store: Store, run: ClaimedRun, events: readonly string[] = terms.events) =>
  store.calls.noteSeen(run, events);

/** Claims the one run of the join that is due, and ends it. Resolves to what it saw. */
async function runJoin(store: Store, now: number, events?: readonly string[]) {
  const run = only(await claimDue(store, join, { now }));
  const view = await see(store, run, events);
  expect(await store.settle(run, endOf(done))).toBe('settled');
  return view;
}

/** Claims the runs of the join that are due now; the ids of their calls. */
async function callsDue(store: Store): Promise<readonly (string | undefined)[]> {
  const runs = await claimDue(store, join);
  return runs.map(({ callId }) => callId);
}

async function lookBack(store: Store): Promise<void> {
  let after: JoinLookBack['after'];
  do {
    after = await store.calls.lookBack({ ...terms, handler: 'join', since: presentTime, after });
  } while (after !== undefined);
}
