/** What every store must do so that no claimed run begins before an earlier one of its call. */
import { describe, expect, test } from 'vitest';
import type { ClaimedEvent } from '../../../src/store/claims.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  done,
  dueAt,
  endOf,
  eventOf,
  handlerOf,
  only,
  runOf,
  traceIdsOf,
} from '../parts.ts';
import { ofCall, orders, storeUnbegun, strict } from './one-call.ts';

/** Runs this part of the suite. */
export function describeBeginning(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: beginning`, () => {
    test('behind a run that has failed, later ones of its call begin, unless their order is strict', async () => {
      const store = await opened();
      const first = only(await claimedOf(store, ofCall('a')));
      for (const run of store.runsOf(first, orders)) await store.settle(run, endOf(dueAt(100)));
      const [later, ofAnother] = await claimedOf(store, ofCall('b'), eventOf('c', { callId: 'call-2' }));
      if (!later || !ofAnother) throw new Error('nothing was claimed');
      expect(mayBegin(store, later)).toEqual({ none: true, call: true, strict: false });
      expect(mayBegin(store, ofAnother)).toEqual({ none: true, call: true, strict: true });
    });

    test('a run waits for those of its handler, and for no others', async () => {
      const store = await opened();
      await storeUnbegun(store, { a: 100 });
      const runs = store.runsOf(only(await claimedOf(store, ofCall('b'))), [
        handlerOf(),
        handlerOf('another', { order: 'strict' }),
      ]);
      expect(runs.map((run) => [run.handler, store.mayRun(run)])).toEqual([
        ['handler', false],
        ['another', true],
      ]);
    });

    test('a run that is claimed and has not begun still goes before a later event of the call', async () => {
      const store = await opened();
      await storeUnbegun(store, { a: 0 });
      await claimDue(store);
      expect(store.mayRun(await claimedRun(store, ofCall('b')))).toBe(false);
    });

    test('a run that goes back goes before events that were claimed before, while it is written and after', async () => {
      const store = await opened();
      const [first, second, third] = await claimedOf(store, ...['a', 'b', 'c'].map(ofCall));
      if (!first || !second || !third) throw new Error('nothing was claimed');
      const writing = Promise.all(store.runsOf(first, orders).map((run) => store.requeue(run)));
      const expected = { none: true, call: false, strict: false };
      expect(mayBegin(store, second)).toEqual(expected);
      await writing;
      expect(mayBegin(store, third)).toEqual(expected);
    });

    test('it goes before no earlier event, and before no event of another call', async () => {
      const store = await opened();
      const [earlier, run, ofAnother] = await claimedOf(
        store,
        ...['a', 'b'].map(ofCall),
        eventOf('c', { callId: 'call-2' }),
      );
      if (!earlier || !run || !ofAnother) throw new Error('nothing was claimed');
      const writing = store.requeue(runOf(store, run, strict));
      for (const event of [earlier, ofAnother]) expect(store.mayRun(runOf(store, event, strict))).toBe(true);
      await writing;
    });

    test('one that failed after a later event was claimed goes before it only with order strict', async () => {
      const store = await opened();
      const [first, second, third] = await claimedOf(store, ...['a', 'b', 'c'].map(ofCall));
      if (!first || !second || !third) throw new Error('nothing was claimed');
      const runs = store.runsOf(first, orders);
      const writing = Promise.all(runs.map((run) => store.settle(run, endOf(dueAt(100)))));
      const expected = { none: true, call: true, strict: false };
      expect(mayBegin(store, second)).toEqual(expected);
      await writing;
      expect(mayBegin(store, third)).toEqual(expected);
    });

    test('it goes before stored runs that are claimed meanwhile, or were before', async () => {
      const store = await opened();
      const early = only(await claimedOf(store, ofCall('a')));
      await storeUnbegun(store, { b: 0, c: 0 });
      const before = only(await claimDue(store, handlerOf(), { limit: 1 }));
      const claiming = claimDue(store, handlerOf(), { limit: 1 });
      const writing = store.requeue(runOf(store, early));
      const meanwhile = only(await claiming);
      expect(store.mayRun(before)).toBe(false);
      // Where the claim came after the write, it took the run that goes back.
      expect([...traceIdsOf([before, meanwhile]), store.mayRun(meanwhile)]).toBeOneOf([
        ['b', 'c', false],
        ['b', 'a', true],
      ]);
      await writing;
    });

    test('what is claimed by the next write has it before itself', async () => {
      const store = await opened();
      const early = only(await claimedOf(store, ofCall('a')));
      await storeUnbegun(store, { b: 0 });
      const writing = store.requeue(runOf(store, early));
      const runs = await claimDue(store);
      const [first, second] = traceIdsOf(runs);
      const mayBeginLater = runs.map((run) => store.mayRun(run)).at(-1);
      // Either the run that goes back was claimed again, and before it, or it may not begin.
      expect([second ?? first, (first === 'a' && second === 'b') || mayBeginLater === false]).toEqual([
        'b',
        true,
      ]);
      await writing;
    });

    test.each(['before', 'after'])(
      'an event that is recorded %s it goes back is not claimed, or may not begin',
      async (when) => {
        const store = await opened();
        const early = await claimedRun(store, ofCall('a'));
        const record = () => store.record(ofCall('b'), true).claimed;
        const recording = when === 'before' ? record() : undefined;
        const writing = store.requeue(early);
        const claimed = await (recording ?? record());
        expect(claimed !== undefined && store.mayRun(runOf(store, claimed))).toBe(false);
        await writing;
      },
    );

    test('once a run is settled, later ones of its call begin, although it was requeued before', async () => {
      const store = await opened();
      await store.requeue(await claimedRun(store, ofCall('a'), strict));
      await store.settle(only(await claimDue(store, strict)), endOf(done));
      expect(store.mayRun(await claimedRun(store, ofCall('b'), strict))).toBe(true);
    });
  });
}

/** Routes an event to a handler of each order: whether its run may begin. */
function mayBegin(store: Store, event: ClaimedEvent): Readonly<Record<string, boolean>> {
  return Object.fromEntries(store.runsOf(event, orders).map((run) => [run.handler, store.mayRun(run)]));
}
