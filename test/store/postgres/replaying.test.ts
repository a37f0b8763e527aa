/** Replays and dismissals that meet other work on the same calls, in other transactions. */
import { describe, expect, test } from 'vitest';
import type { ReplayCandidate, ReplayWrite } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedRuns,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  firstStep,
  handlerOf,
  only,
  presentTime,
} from '../parts.ts';
import { openedPostgres, untilAnotherWaits } from './opened-postgres.ts';

const strict = handlerOf('handler', { order: 'strict' });

/** Events of one call whose runs are dead: the candidates of a replay. */
async function deadOfCall(store: Store, count: number): Promise<ReplayCandidate[]> {
  const events = Array.from({ length: count }, (_, index) => eventOf(`t-${index}`, { callId: 'call-1' }));
  const runs = await claimedRuns(store, events, strict);
  for (const run of runs) await store.settle(run, endOf(dead));
  return runs.map(({ sequence, callId, handler }) => ({
    sequence,
    callId,
    handler,
    order: 'strict',
    isJoin: false,
  }));
}

const stepOf = async (store: Store, candidates: readonly ReplayCandidate[]): Promise<ReplayWrite> => ({
  candidates,
  onlyDead: true,
  step: await firstStep(store),
});

const dismissalOf = async (store: Store, sequences: readonly number[]) => ({
  step: await firstStep(store),
  sequences,
  handler: 'handler',
  takesDead: true,
  takesWaiting: true,
  reason: 'dismissed',
  now: presentTime,
});

describe('replays in Postgres', () => {
  test('that run at the same time requeue each run once', { tags: 'long' }, async () => {
    const { store } = await openedPostgres();
    const candidates = await deadOfCall(store, 12);
    const steps = await Promise.all([1, 2, 3].map(() => stepOf(store, candidates)));
    const back = await Promise.all(steps.map((step) => store.events.requeue(step)));
    expect(back.map((runs) => runs?.length ?? -1).toSorted((a, b) => a - b)).toEqual([0, 0, 12]);
    const { due, blocked } = (await store.counts()).runs;
    expect({ due, blocked }).toEqual({ due: 1, blocked: 11 });
  });

  test('of different events of a strict call leave one of them due', { tags: 'long' }, async () => {
    const { store } = await openedPostgres();
    const candidates = await deadOfCall(store, 12);
    const steps = await Promise.all(candidates.map((candidate) => stepOf(store, [candidate])));
    await Promise.all(steps.map((step) => store.events.requeue(step)));
    expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 11 });
  });

  test('block a run behind one that is just being settled only if that will unblock it', async () => {
    const { store, session } = await openedPostgres();
    const [first, second] = await deadOfCall(store, 2);
    if (!first || !second) throw new Error('two runs are dead');
    await store.events.requeue(await stepOf(store, [first]));
    const step = await stepOf(store, [second]);
    let requeued: ReturnType<typeof store.events.requeue> | undefined;
    await session.write(async (transaction) => {
      await transaction.query("update ringback.runs set state = 'done' where sequence = $1", [
        first.sequence,
      ]);
      requeued = store.events.requeue(step);
      await Promise.race([requeued, untilAnotherWaits(transaction)]);
    });
    expect(await requeued).toHaveLength(1);
    expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 0 });
  });

  test('and dismissals leave alone what is claimed at the same time', async () => {
    const { store } = await openedPostgres();
    const runs = await claimedRuns(
      store,
      Array.from({ length: 20 }, (_, index) => eventOf(`t-${index}`)),
    );
    for (const run of runs) await store.settle(run, endOf(dueAt(0)));
    const dismissal = await dismissalOf(
      store,
      runs.map(({ sequence }) => sequence),
    );
    const [claimed, dismissed = []] = await Promise.all([
      claimDue(store, handlerOf(), { limit: 10 }),
      store.events.dismiss(dismissal),
    ]);
    const sequences = [...claimed, ...dismissed].map(({ sequence }) => sequence);
    expect(new Set(sequences).size).toBe(sequences.length);
    expect((await store.counts()).runs).toMatchObject({ due: 0, running: claimed.length });
    for (const run of claimed) expect(await store.settle(run, endOf(done))).toBe('settled');
  });

  test('and dismissals at the same time never leave the rest of a strict call blocked', async () => {
    const { store } = await openedPostgres();
    const candidates = await deadOfCall(store, 6);
    const [first, ...others] = candidates;
    if (!first) throw new Error('runs are dead');
    await store.events.requeue(await stepOf(store, [first]));
    const step = await stepOf(store, others);
    const dismissal = await dismissalOf(store, [first.sequence]);
    await Promise.all([store.events.dismiss(dismissal), store.events.requeue(step)]);
    expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 4 });
  });
});

describe('the end of an attempt in Postgres', () => {
  const ofCall = ['a', 'b'].map((traceId) => eventOf(traceId, { callId: 'call-1' }));

  test('blocks no run behind one that is just being settled, which would not unblock it', async () => {
    const { store, session } = await openedPostgres();
    const [first, second] = await claimedRuns(store, ofCall, strict);
    if (!first || !second) throw new Error('two runs are claimed');
    await store.settle(first, endOf(dueAt(0)));
    let settled: Promise<unknown> | undefined;
    await session.write(async (transaction) => {
      await transaction.query("update ringback.runs set state = 'done' where sequence = $1", [
        first.sequence,
      ]);
      settled = store.settle(second, endOf(dueAt(0)));
      await Promise.race([settled, untilAnotherWaits(transaction)]);
    });
    expect(await settled).toBe('settled');
    expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 0 });
  });

  test('does not unblock a run that is just being dismissed', async () => {
    const { store, session } = await openedPostgres();
    const [first, second] = await claimedRuns(store, ofCall, strict);
    if (!first || !second) throw new Error('two runs are claimed');
    await store.settle(first, endOf(dueAt(0)));
    await store.requeue(second);
    const again = only(await claimDue(store, strict));
    let settled: Promise<unknown> | undefined;
    await session.write(async (transaction) => {
      await transaction.query("update ringback.runs set state = 'done' where sequence = $1", [
        second.sequence,
      ]);
      settled = store.settle(again, endOf(done));
      await Promise.race([settled, untilAnotherWaits(transaction)]);
    });
    expect(await settled).toBe('settled');
    expect((await store.counts()).runs).toMatchObject({ due: 0, blocked: 0 });
  });
});
