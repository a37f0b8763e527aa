/** What every store must do with an event that is reconciled: its delivery may come before it, after it, or at once. */
import { describe, expect, test } from 'vitest';
import type { EventRecord } from '../../../src/store/event-record.ts';
import type { Store } from '../../../src/store/store.ts';
import { type ReconcilableName, reconciledTraceId } from '../../../src/events/reconciled.ts';
import { claimedRun, done, endOf, eventOf, only, record, traceIdsOf } from '../parts.ts';

const ended = 'CallHandler.CallEnded';
const analysed = 'callAnalysis.pcaCompleted';
const ofCall = { callId: 'call-1' };

/** Runs this part of the suite. */
export function describeReconciling(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: reconciling`, () => {
    test('a reconciled event is new once, and says where it comes from', async () => {
      const store = await opened();
      expect(await record(store, reconciledOf())).toBe('new');
      expect(await record(store, reconciledOf())).toBe('duplicate');
      const { traceId } = reconciledOf();
      expect(await store.events.get(traceId)).toMatchObject({ traceId, source: 'reconciled', state: 'new' });
      const { events } = await store.events.list({}, { limit: 10 });
      expect(events).toMatchObject([{ traceId, source: 'reconciled' }]);
      const { events: stretch } = await store.events.stretch({}, 0, 100);
      expect(stretch).toMatchObject([{ traceId, source: 'reconciled' }]);
      expect(await store.claimEvents(10)).toMatchObject([{ traceId, source: 'reconciled' }]);
    });

    test('the write that records it can claim it', async () => {
      const store = await opened();
      const { written, claimed } = store.record(reconciledOf(), true);
      expect(await written).toBe('new');
      expect(await claimed).toMatchObject({ source: 'reconciled', callId: 'call-1' });
      expect(await store.record(reconciledOf(), true).claimed).toBeUndefined();
    });

    test('after it, a delivery of the same name and call is a duplicate, under whatever trace id', async () => {
      const store = await opened();
      await record(store, reconciledOf());
      for (const traceId of ['late', 'later', 'late']) {
        expect(await record(store, eventOf(traceId, ofCall))).toBe('duplicate');
      }
      expect(await store.claimEvents(10)).toHaveLength(1);
      // Its trace id is not taken: it may be that of another event.
      expect(await record(store, eventOf('late', { callId: 'call-2' }))).toBe('new');
    });

    test('after a delivery, it is a duplicate, whatever has become of the event', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('delivered', ofCall));
      expect(await record(store, reconciledOf())).toBe('duplicate');
      await store.settle(run, endOf(done));
      expect(await record(store, reconciledOf())).toBe('duplicate');
    });

    test('other names, other calls, and events without a call are not concerned', async () => {
      const store = await opened();
      expect(await record(store, eventOf('ended', ofCall))).toBe('new');
      expect(await record(store, reconciledOf('call-1', analysed))).toBe('new');
      expect(await record(store, reconciledOf('call-2'))).toBe('new');
      const others = [
        eventOf('started', { ...ofCall, eventName: 'CallHandler.CallStarted' }),
        eventOf('transferred', { ...ofCall, eventName: 'CallHandler.CallTransferred' }),
        eventOf('transferred-again', { ...ofCall, eventName: 'CallHandler.CallTransferred' }),
        eventOf('ended-again', ofCall),
        eventOf('of-no-call', { callId: undefined }),
        eventOf('of-another', { callId: 'call-3' }),
      ];
      for (const event of others) expect(await record(store, event)).toBe('new');
    });

    test('of a delivery and a reconciled event at once, exactly one is new', async () => {
      const store = await opened();
      const calls = Array.from({ length: 20 }, (_, index) => `call-${index}`);
      const both = await Promise.all(
        calls.map((callId, index) => {
          const records = [reconciledOf(callId), eventOf(`delivered-${index}`, { callId })];
          const ordered = index % 2 === 0 ? records : records.toReversed();
          return Promise.all(ordered.map((one) => record(store, one)));
        }),
      );
      for (const results of both) expect(results.toSorted()).toEqual(['duplicate', 'new']);
      expect(await store.claimEvents(100)).toHaveLength(calls.length);
    });

    test('many reconciled events and many deliveries of one call at once: one is new, or the deliveries are', async () => {
      const store = await opened();
      const copies = Array.from({ length: 30 }, (_, index) =>
        index % 3 === 0 ? reconciledOf() : eventOf('delivered', ofCall),
      );
      const results = await Promise.all(copies.map((one) => record(store, one)));
      expect(results.filter((result) => result === 'new')).toHaveLength(1);
    });

    test('a delivery that is released from quarantine is a duplicate of it as well', async () => {
      const store = await opened();
      await record(store, reconciledOf());
      const delivery = eventOf('released', ofCall);
      const { id } = await store.quarantine.keep({
        kind: 'not_authentic',
        reason: 'signature_mismatch',
        digest: 'd',
        skipped: 0,
        receivedAt: 1,
        headers: {},
        body: delivery.body,
      });
      expect(await store.quarantine.release(id, delivery)).toBe('duplicate');
    });

    test('a delivery that has the trace id of a reconciled event is another event', async () => {
      const store = await opened();
      const named = (callId: string) => eventOf(reconciledOf(callId).traceId, { eventName: 'Other.Event' });
      for (const callId of ['call-1', 'call-2']) expect(await record(store, named(callId))).toBe('new');
      expect(await record(store, reconciledOf('call-2'))).toBe('new');
      expect(await record(store, eventOf('ended', ofCall))).toBe('new');
      expect(await record(store, eventOf('late', { callId: 'call-2' }))).toBe('duplicate');
      expect(await record(store, named('call-2'))).toBe('duplicate');
    });

    test('when it has been removed, a late delivery is still a duplicate, and so is it', async () => {
      const store = await opened();
      await record(store, reconciledOf());
      const sequences = (await store.claimEvents(10)).map(({ sequence }) => sequence);
      await store.retention.eraseEvents(sequences, 10_000);
      expect(await record(store, reconciledOf())).toBe('duplicate');
      expect(await record(store, eventOf('late', ofCall))).toBe('duplicate');
    });

    test('nothing is rebuilt of a call that was erased, until its trace ids are forgotten', async () => {
      const store = await opened();
      await record(store, eventOf('delivered', ofCall));
      for (const callId of ['call-1', 'call-never-seen']) {
        await store.retention.eraseCall(callId, 10_000);
        for (const eventName of [ended, analysed] as const)
          expect(await record(store, reconciledOf(callId, eventName))).toBe('duplicate');
      }
      // What comes of it later was not known, and is no copy.
      expect(await record(store, eventOf('analysed', { ...ofCall, eventName: analysed }))).toBe('new');
      const limits = { doneBefore: 0, deadBefore: 0, quarantineBefore: 0, traceIdsUntil: 0, now: 10_001 };
      for (let next: string | undefined = undefined, first = true; first || next !== undefined; first = false)
        ({ next } = await store.retention.clean(limits, next));
      expect(await record(store, reconciledOf())).toBe('new');
      expect(traceIdsOf(await store.claimEvents(10))).toContain(reconciledOf().traceId);
    });

    test('it moves among other events as one of them', async () => {
      const store = await opened();
      await record(store, reconciledOf());
      const claimed = only(await store.claimEvents(10));
      expect(await store.calls.eventsOf('call-1')).toMatchObject([
        { eventName: ended, traceId: claimed.traceId },
      ]);
      expect(await store.retention.countCall('call-1')).toEqual({ events: 1, runs: 0 });
    });
  });
}

/** An event as `reconcile` records it. */
export function reconciledOf(callId = 'call-1', eventName: ReconcilableName = ended): EventRecord {
  const traceId = reconciledTraceId(eventName, callId);
  const parts = { source: 'reconciled', eventName, callId, headers: {} } as const;
  return eventOf(traceId, { identity: traceId, ...parts });
}
