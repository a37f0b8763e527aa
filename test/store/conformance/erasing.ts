/** What every store must do to find a person's data, and to erase it. */
import { describe, expect, test } from 'vitest';
import type { Kept, KeptIn } from '../../../src/store/retention-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  claimedRuns,
  dead,
  done,
  endOf,
  endSiblings,
  eventOf,
  failureOf,
  handlerOf,
  only,
  presentTime,
  record,
  runOf,
} from '../parts.ts';

const traceIdsUntil = 10_000;
const callOf = (callId: string) => ({ callId });

/** Runs this part of the suite. */
export function describeErasing(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: erasing`, () => {
    test('shows of an event all that can name a person', async () => {
      const store = await opened();
      const ofAnna = eventOf('trace-of-anna', {
        eventName: 'Event.OfAnna',
        callId: 'call-1',
        headers: { 'x-of': 'header of anna' },
        facts: { source: 'body', agentId: 'agent of anna', destination: 'number of anna' },
        body: Buffer.from([0xff, ...Buffer.from('body of anna')]),
      });
      const run = await claimedRun(store, ofAnna);
      await store.settle(run, endOf({ kind: 'dead', reason: 'reason of anna' }));
      const kept = only(await lookAt(store, 'events'));
      expect(kept).toMatchObject({ key: run.sequence, callId: 'call-1' });
      const said = textOf(kept);
      for (const part of ['header', 'agent', 'number', 'body', 'reason'])
        expect(said).toContain(`${part} of anna`);
      for (const id of ['trace-of-anna', 'Event.OfAnna']) expect(said).toContain(id);
    });

    test('looks at events in order of their keys, or at those without a call', async () => {
      const store = await opened();
      const events = await claimedOf(
        store,
        eventOf('a', callOf('call-1')),
        eventOf('b', { callId: undefined }),
        eventOf('c', callOf('call-1')),
      );
      const keys = events.map(({ sequence }) => sequence);
      expect((await lookAt(store, 'events')).map(({ key }) => key)).toEqual(keys);
      expect(await lookAt(store, 'events_without_call')).toMatchObject([
        { key: keys[1], callId: undefined, traceId: 'b' },
      ]);
    });

    test('looks from one to the next until it has seen everything', async () => {
      const store = await opened();
      const records = Array.from({ length: 450 }, (_, index) =>
        eventOf(`trace-${index}`, { callId: index % 9 === 0 ? undefined : 'call-1' }),
      );
      await Promise.all(records.map((event) => record(store, event)));
      expect(await lookAt(store, 'events')).toHaveLength(450);
      expect(await lookAt(store, 'events_without_call')).toHaveLength(50);
    });

    test(
      'erases a call with its runs, in as many steps as it takes, and no other call',
      { tags: 'long' },
      async () => {
        const store = await opened();
        const records = Array.from({ length: 450 }, (_, index) =>
          eventOf(`trace-${index}`, callOf('call-1')),
        );
        const [first, second] = await claimedOf(store, ...records, eventOf('other', callOf('call-2')));
        if (!first || !second) throw new Error('nothing was claimed');
        await store.settle(runOf(store, first), endOf(dead));
        await endSiblings(store, second, { one: dead, two: dead });
        expect(await store.retention.countCall('call-1')).toEqual({ events: 450, runs: 3 });
        expect(await eraseCall(store, 'call-1')).toEqual({ events: 450, runs: 3 });
        expect(await store.retention.countCall('call-1')).toEqual({ events: 0, runs: 0 });
        expect(await store.calls.eventsOf('call-1')).toEqual([]);
        expect((await lookAt(store, 'events')).map(({ callId }) => callId)).toEqual(['call-2']);
        expect(await store.counts()).toMatchObject({
          events: { new: 1, open: 0, done: 0 },
          runs: { dead: 0 },
        });
        expect(await record(store, records[0] ?? eventOf('none'))).toBe('duplicate');
      },
    );

    test.each([1, 199, 200, 449])(
      'erases the event by which a call was found in the last step, also if it is number %i',
      { tags: 'long' },
      async (index) => {
        const store = await opened();
        const records = Array.from({ length: 450 }, (_, n) => eventOf(`trace-${n}`, callOf('call-1')));
        const sequence = (await claimedOf(store, ...records))[index]?.sequence ?? 0;
        const left: number[] = [];
        for (let hasMore = true; hasMore;) {
          ({ hasMore } = await store.retention.eraseCall('call-1', traceIdsUntil, sequence));
          left.push((await store.retention.countEvents([sequence])).events);
        }
        expect(left).toEqual([1, 1, 0]);
        expect(await store.retention.countCall('call-1')).toEqual({ events: 0, runs: 0 });
      },
    );

    test('says which events it has erased', async () => {
      const store = await opened();
      const events = [eventOf('a', callOf('call-1')), eventOf('b', callOf('call-1')), eventOf('c')];
      const keys = (await claimedOf(store, ...events)).map(({ sequence }) => sequence);
      const { traceIds } = await store.retention.eraseCall('call-1', traceIdsUntil);
      expect(traceIds.toSorted()).toEqual(['a', 'b']);
      expect(await store.retention.eraseEvents(keys, traceIdsUntil)).toMatchObject({ traceIds: ['c'] });
    });

    test('what is claimed can be erased as well, and its settlement is lost', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a', callOf('call-1')));
      await record(store, eventOf('b', callOf('call-1')));
      await eraseCall(store, 'call-1');
      expect(await store.settle(run, endOf(dead))).toBe('lost');
      expect(await store.claimEvents(10)).toEqual([]);
      expect(await store.counts()).toMatchObject({ events: { new: 0, open: 0, done: 0 }, runs: { dead: 0 } });
    });

    test('with the last event of a call goes what its joins remember', async () => {
      const store = await opened();
      const waitsFor = { events: ['CallHandler.CallEnded'], within: 60_000, runsAgain: false };
      const join = handlerOf('join', { join: waitsFor });
      const arrive = async (traceId: string) => {
        const run = await claimedRun(store, eventOf(traceId, callOf('call-1')), join);
        await store.requeue(run);
        return run.sequence;
      };
      const first = await arrive('a');
      const run = only(await claimDue(store, join));
      await store.calls.noteSeen(run, waitsFor.events);
      await store.settle(run, endOf(done));
      const second = await arrive('b');
      await store.retention.eraseEvents([first], traceIdsUntil);
      await arrive('c');
      expect(await claimDue(store, join)).toEqual([]);
      await eraseCall(store, 'call-1');
      expect(await store.retention.countEvents([second])).toEqual({ events: 0, runs: 0 });
      await arrive('d');
      expect(await claimDue(store, join)).toMatchObject([{ traceId: 'd' }]);
    });

    test('a join whose run is erased before it was called is opened anew by the next event of its call', async () => {
      const store = await opened();
      const waitsFor = { events: ['CallHandler.CallEnded', 'another'], within: 60_000, runsAgain: false };
      const join = handlerOf('join', { join: waitsFor });
      const [first, ...others] = await claimedRuns(
        store,
        ['a', 'b', 'c'].map((id) => eventOf(id, callOf('call-1'))),
        join,
      );
      if (!first) throw new Error('nothing was claimed');
      await store.requeue(first);
      await store.retention.eraseEvents([first.sequence], traceIdsUntil);
      expect(await store.nextDue('join')).toBeUndefined();
      for (const run of others) await store.requeue(run);
      expect(await claimDue(store, join, { now: Number.MAX_SAFE_INTEGER })).toMatchObject([{ traceId: 'b' }]);
    });

    test('erases those events that it is given, and counts those that are there', async () => {
      const store = await opened();
      const runs = await claimedRuns(
        store,
        ['a', 'b', 'c'].map((id) => eventOf(id)),
      );
      const [first, second, third] = runs;
      if (!first || !second || !third) throw new Error('nothing was claimed');
      await store.settle(first, endOf(dead));
      const sequences = [first.sequence, third.sequence];
      const counted = { events: 2, runs: 1 };
      expect(await store.retention.countEvents(sequences)).toEqual(counted);
      expect(await store.retention.eraseEvents(sequences, traceIdsUntil)).toMatchObject(counted);
      expect(await store.retention.countEvents(sequences)).toEqual({ events: 0, runs: 0 });
      expect(await store.retention.eraseEvents(sequences, traceIdsUntil)).toMatchObject({
        events: 0,
        runs: 0,
      });
      expect((await lookAt(store, 'events')).map(({ key }) => key)).toEqual([second.sequence]);
      expect(await record(store, eventOf('a'))).toBe('duplicate');
    });

    test('erases deliveries in quarantine, and says how many there were', async () => {
      const store = await opened();
      const parts = { kind: 'not_authentic', reason: 'signature_mismatch', digest: 'd' } as const;
      const kept = { ...parts, receivedAt: 1, skipped: 0, headers: { 'x-of': 'header of anna' } };
      const { id } = await store.quarantine.keep({ ...kept, body: Buffer.from('body of anna') });
      const other = await store.quarantine.keep({ ...kept, body: Buffer.from('other') });
      const [found] = await lookAt(store, 'quarantine');
      expect(found).toMatchObject({ key: id });
      for (const part of ['header', 'body']) expect(textOf(found)).toContain(`${part} of anna`);
      expect(await store.retention.eraseQuarantined([id, id])).toBe(1);
      expect(await lookAt(store, 'quarantine')).toMatchObject([{ key: other.id }]);
    });

    test('erases what a group of failures says', async () => {
      const store = await opened();
      const dying = await claimedRun(store, eventOf('a'));
      const failure = failureOf('no anna');
      await store.settle(dying, endOf(dead, { failure }));
      const kept = only(await lookAt(store, 'failure_groups'));
      expect(textOf(kept)).toContain('no anna');
      await store.retention.eraseFailureGroups([kept.key]);
      expect(textOf(only(await lookAt(store, 'failure_groups')))).not.toContain('anna');
      expect(await store.failures.groups({ handler: undefined, limit: 1 })).toMatchObject([
        { id: 'g', message: '' },
      ]);
    });

    test('with the last event that has failed in some way goes what the group of it says, until one fails so again', async () => {
      const store = await opened();
      const failure = failureOf('no anna');
      const fail = async (traceId: string) => {
        const run = await claimedRun(store, eventOf(traceId, callOf(`call of ${traceId}`)));
        await store.settle(run, endOf(dead, { failure }));
      };
      const said = async () => textOf(only(await lookAt(store, 'failure_groups')));
      await fail('a');
      await fail('b');
      await eraseCall(store, 'call of a');
      expect(await said()).toBe('no anna');
      await eraseCall(store, 'call of b');
      expect(await said()).toBe('');
      await fail('c');
      expect(await said()).toBe('no anna');
    });

    test('erases from a replay who asked for it, why, and for what, and leaves it what it has requeued', async () => {
      const store = await opened();
      const dying = await claimedRun(store, eventOf('a'));
      await store.settle(dying, endOf(dead));
      const request = {
        by: 'by anna',
        reason: 'for anna',
        action: 'replay',
        what: '{"callId":"anna"}',
        now: presentTime,
      } as const;
      const replay = await store.audit.begin({ ...request, upTo: 1 });
      const { sequence, callId } = dying;
      const candidate = { sequence, callId, handler: 'handler', order: 'none', isJoin: false } as const;
      const step = { id: replay, from: 0, reached: 1 };
      await store.events.requeue({ candidates: [candidate], onlyDead: true, step });
      const kept = only(await lookAt(store, 'audit'));
      expect(kept).toMatchObject({ key: replay });
      for (const part of ['by anna', 'for anna', '"callId":"anna"']) expect(textOf(kept)).toContain(part);
      await store.retention.eraseAudit([replay]);
      expect(textOf(only(await lookAt(store, 'audit')))).not.toContain('anna');
      const run = only(await claimDue(store));
      expect(run.replay).toEqual({ id: replay, by: undefined, reason: undefined });
    });

    test('cleans the files of what was erased, if it can, and leaves what was not erased', async () => {
      const store = await opened();
      const clean = { checkpointed: true, compacted: true };
      for (const [traceId, callId] of [
        ['a', 'call-1'],
        ['b', 'call-2'],
      ] as const)
        await record(store, eventOf(traceId, callOf(callId)));
      // Nothing has been erased yet.
      if (store.retention.compact)
        expect(await store.retention.compact({ onlyIfNeeded: true })).toEqual(clean);
      await eraseCall(store, 'call-1');
      for (const options of [{}, { rewrite: true }, { onlyIfNeeded: true }])
        if (store.retention.compact) expect(await store.retention.compact(options)).toEqual(clean);
      expect((await lookAt(store, 'events')).map(({ traceId }) => traceId)).toEqual(['b']);
      expect(await record(store, eventOf('c'))).toBe('new');
      expect((await store.claimEvents(10)).map(({ traceId }) => traceId)).toEqual(['b', 'c']);
    });
  });
}

/** Everything that is kept somewhere. `after`: what the previous look says. */
async function lookAt(store: Store, where: KeptIn, after?: string): Promise<readonly Kept[]> {
  const { found, next } = await store.retention.look(where, after);
  return next === undefined ? found : [...found, ...(await lookAt(store, where, next))];
}

const textOf = (kept: Kept | undefined): string =>
  (kept?.contents ?? []).map((content) => Buffer.from(content).toString('latin1')).join('\n');

/** Erases a call in as many steps as it takes; how much was removed in all. */
async function eraseCall(store: Store, callId: string) {
  const erased = { events: 0, runs: 0 };
  let hasMore = true;
  while (hasMore) {
    const step = await store.retention.eraseCall(callId, traceIdsUntil);
    erased.events += step.events;
    erased.runs += step.runs;
    hasMore = step.hasMore;
  }
  await store.retention.clearUnusedGroups();
  return erased;
}
