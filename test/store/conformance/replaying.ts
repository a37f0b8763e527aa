/** What every store must do with runs that a replay requeues. */
import { describe, expect, test } from 'vitest';
import type { Order } from '../../../src/dispatch/handler.ts';
import type { EventRecord } from '../../../src/store/event-record.ts';
import { type ReplayCandidate, joinKey } from '../../../src/store/event-store.ts';
import type { RunState, Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedRun,
  claimedRuns,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  failureOf,
  firstStep,
  handlerOf,
  only,
  replayRequest,
  traceIdsOf,
} from '../parts.ts';

const onlyDead = true;

/** Runs this part of the suite. */
export function describeReplaying(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: replaying`, () => {
    test('says how many runs of a replay are open, done and dead', async () => {
      const store = await opened();
      const candidates = await deadLetters(
        store,
        ['a', 'b', 'c', 'other'].map((traceId) => eventOf(traceId)),
      );
      const other = await firstStep(store);
      await store.events.requeue({ onlyDead, candidates: candidates.slice(3), step: other });
      const replay = await firstStep(store);
      expect(await store.events.replayed(replay.id)).toEqual({ open: 0, done: 0, dead: 0 });
      await store.events.requeue({ onlyDead, candidates, step: replay });
      expect(await store.events.replayed(replay.id)).toEqual({ open: 3, done: 0, dead: 0 });
      const [first, second] = await claimDue(store, handlerOf(), { limit: 2 });
      if (!first || !second) throw new Error('two runs are due');
      expect(await store.events.replayed(replay.id)).toMatchObject({ open: 3 });
      await store.settle(first, endOf(done));
      await store.settle(second, endOf(dead));
      expect(await store.events.replayed(replay.id)).toEqual({ open: 1, done: 1, dead: 1 });
      expect(await store.events.replayed(other.id)).toEqual({ open: 1, done: 0, dead: 0 });
    });

    test('a run that another replay requeues counts for that one', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a')]);
      const first = await firstStep(store);
      await store.events.requeue({ onlyDead, candidates, step: first });
      await store.settle(only(await claimDue(store)), endOf(dead));
      expect(await store.events.replayed(first.id)).toEqual({ open: 0, done: 0, dead: 1 });
      const second = await firstStep(store);
      await store.events.requeue({ onlyDead, candidates, step: second });
      expect(await store.events.replayed(first.id)).toEqual({ open: 0, done: 0, dead: 0 });
      expect(await store.events.replayed(second.id)).toEqual({ open: 1, done: 0, dead: 0 });
    });

    test('a run that is given back before it has begun still counts for the replay that requeued it', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a')]);
      const replay = await firstStep(store);
      await store.events.requeue({ onlyDead, candidates, step: replay });
      await store.requeue(only(await claimDue(store)));
      expect(await store.events.replayed(replay.id)).toMatchObject({ open: 1 });
      expect(await claimDue(store)).toMatchObject([{ attempts: 0, replay: { id: replay.id } }]);
    });

    test('asked beforehand, names what it then requeues, and changes nothing', async () => {
      const store = await opened();
      const [letter, ended, open, claimed] = await endedIn(store, dead, done, dueAt(500), undefined);
      const candidates = [letter, ended, open, claimed].filter((each) => each !== undefined);
      const joins = new Set<string>();
      const before = await store.counts();
      for (const [isOnlyDead, expected] of [
        [true, [letter]],
        [false, [letter, ended]],
      ] as const) {
        const step = { candidates, onlyDead: isOnlyDead };
        expect(await store.events.wouldRequeue({ ...step, joins })).toEqual(expected);
        expect(await store.counts()).toEqual(before);
      }
      const step = await firstStep(store);
      expect(await store.events.requeue({ candidates, onlyDead: false, step })).toEqual([letter, ended]);
      expect(await store.events.wouldRequeue({ candidates, onlyDead: false, joins })).toEqual([]);
    });

    test('asked beforehand, names a join once for each call, also if an earlier step has named it', async () => {
      const store = await opened();
      const records = ['a', 'b'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const candidates = (await deadLetters(store, records)).map((each) => ({ ...each, isJoin: true }));
      const [first] = candidates;
      if (!first) throw new Error('two runs are dead');
      const asked = (joins: ReadonlySet<string>) =>
        store.events.wouldRequeue({ candidates, onlyDead, joins });
      expect(await asked(new Set())).toEqual([first]);
      expect(await asked(new Set([joinKey(first)]))).toEqual([]);
    });

    test.each(orders)(
      'with order %s, what it requeues waits as that order requires',
      async (order, claims) => {
        const store = await opened();
        const records = ['a', 'b', 'c'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
        const letters = await deadLetters(store, records, order);
        // The last one first.
        for (const letter of letters.toReversed())
          await store.events.requeue({ onlyDead, candidates: [letter], step: await firstStep(store) });
        for (const expected of claims) {
          const runs = await claimDue(store, handlerOf('handler', { order }));
          expect(traceIdsOf(runs)).toEqual(expected);
          for (const run of runs) await store.settle(run, endOf(done));
        }
        expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0 });
      },
    );

    test('a group of failures is as late as the latest that was not replayed since, or as its first', async () => {
      const store = await opened();
      const failedAs = async (traceId: string, group: string, state: RunState, decidedAt: number) => {
        const run = await claimedRun(store, eventOf(traceId));
        const failure = { ...failureOf('no answer'), group };
        await store.settle(run, endOf(state, { failure, decidedAt }));
        const { sequence, callId, handler } = run;
        return { sequence, callId, handler, order: 'call', isJoin: false } as const;
      };
      const all = [await failedAs('a', 'g', dead, 10), await failedAs('b', 'h', dead, 20)];
      await failedAs('c', 'g', dueAt(500), 30);
      await store.events.requeue({ onlyDead, candidates: all, step: await firstStep(store) });
      expect(await store.failures.groups({ handler: undefined, limit: 9 })).toMatchObject([
        { id: 'g', retrying: 2, lastSeenAt: 30, traceId: 'c' },
        { id: 'h', retrying: 1, lastSeenAt: 20, traceId: 'b' },
      ]);
    });

    test.each([
      ['is tried again', dead, dueAt(500)],
      ['is dead', dueAt(500), dead],
    ])('a group of failures names the event that failed last, whose run %s', async (_, earlier, later) => {
      const store = await opened();
      for (const [traceId, state, decidedAt] of [
        ['earlier', earlier, 10],
        ['later', later, 20],
      ] as const) {
        const failure = { ...failureOf('no answer'), group: 'g' };
        await store.settle(await claimedRun(store, eventOf(traceId)), endOf(state, { failure, decidedAt }));
      }
      expect(await store.failures.groups({ handler: undefined, limit: 9 })).toMatchObject([
        { id: 'g', dead: 1, retrying: 1, lastSeenAt: 20, traceId: 'later' },
      ]);
    });

    test('works in steps, each of which is written once, and counts what it changes', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a'), eventOf('b')]);
      const [a, b] = candidates.map((candidate) => ({ onlyDead, candidates: [candidate] }));
      if (!a || !b) throw new Error('two runs are dead');
      const upTo = await store.events.lastSequence();
      const id = await store.audit.begin({ ...replayRequest, upTo });
      const progress = { begunAfter: 0, upTo, reached: 0, isStopped: false, handlers: {} };
      expect(await store.audit.running()).toMatchObject([{ id, progress, finishedAt: undefined }]);
      const step = { id, from: 0, reached: 1 };
      const both = await Promise.all([1, 2].map(() => store.events.requeue({ ...a, step })));
      expect(both.filter((back) => back !== undefined)).toMatchObject([{ length: 1 }]);
      expect(await store.events.requeue({ ...b, step })).toBeUndefined();
      expect(await store.audit.advance({ id, from: 1, reached: 2 })).toBe(true);
      expect(await store.audit.advance({ id, from: 1, reached: 2 })).toBe(false);
      expect(await store.events.requeue({ ...b, step: { id, from: 2, reached: 3 } })).toHaveLength(1);
      const handlers = { handler: 2 };
      expect(await store.audit.get(id)).toMatchObject({
        events: 2,
        runs: 2,
        progress: { reached: 3, handlers },
      });
      await store.audit.end(id, 7, { events: 0, runs: 0 });
      expect(await store.audit.running()).toEqual([]);
      expect(await store.audit.get(id)).toMatchObject({ finishedAt: 7, progress: { isStopped: false } });
    });

    test('is stopped once, and then nothing more of it is written', async () => {
      const store = await opened();
      const candidates = await deadLetters(store, [eventOf('a')]);
      const step = await firstStep(store);
      expect(await store.audit.stop(step.id, 5)).toBe(true);
      expect(await store.audit.stop(step.id, 6)).toBe(false);
      expect(await store.events.requeue({ onlyDead, candidates, step })).toBeUndefined();
      expect(await store.audit.advance(step)).toBe(false);
      await store.audit.end(step.id, 7, { events: 0, runs: 0 });
      expect(await store.audit.get(step.id)).toMatchObject({ finishedAt: 5, progress: { isStopped: true } });
      expect((await store.counts()).runs).toMatchObject({ dead: 1, due: 0 });
      // What is done at once can't be stopped.
      expect(await store.audit.stop(await store.audit.begin(replayRequest), 5)).toBe(false);
    });

    test('a join runs once for each call, also in a later step', async () => {
      const store = await opened();
      const join = handlerOf('join');
      const records = ['a', 'b'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));
      const runs = await claimedRuns(store, records, join);
      for (const run of runs) await store.settle(run, endOf(dead));
      const [a, b] = runs.map(({ sequence, callId }) => ({
        onlyDead,
        candidates: [{ sequence, callId, handler: 'join', order: 'call', isJoin: true } as const],
      }));
      if (!a || !b) throw new Error('two runs are dead');
      const step = await firstStep(store);
      expect(await store.events.requeue({ ...a, step })).toHaveLength(1);
      await store.settle(only(await claimDue(store, join)), endOf(dead));
      expect(await store.events.requeue({ ...b, step: { ...step, from: 1, reached: 2 } })).toEqual([]);
    });
  });
}

/** Records events whose runs are dead letters, as a replay would requeue them. */
async function deadLetters(
  store: Store,
  records: readonly EventRecord[],
  order: Order = 'call',
): Promise<ReplayCandidate[]> {
  const runs = await claimedRuns(store, records, handlerOf('handler', { order }));
  for (const run of runs) await store.settle(run, endOf(dead));
  return runs.map(({ sequence, callId, handler }) => ({ sequence, callId, handler, order, isJoin: false }));
}

/** Records events whose runs end in these states, as a replay would requeue them; `undefined`: it goes on. */
async function endedIn(
  store: Store,
  ...states: readonly (RunState | undefined)[]
): Promise<ReplayCandidate[]> {
  const runs = await claimedRuns(
    store,
    states.map((_, index) => eventOf(`trace-${index}`)),
  );
  for (const [index, run] of runs.entries()) {
    const state = states[index];
    if (state) await store.settle(run, endOf(state));
  }
  return runs.map(({ sequence, callId, handler }) => ({
    sequence,
    callId,
    handler,
    order: 'call',
    isJoin: false,
  }));
}

/** Each order, and which runs are claimed together, one claim after the other. */
const orders: readonly (readonly [Order, readonly (readonly string[])[]])[] = [
  ['none', [['a', 'b', 'c']]],
  ['call', [['a', 'b', 'c']]],
  ['strict', [['c'], ['a'], ['b']]],
];
