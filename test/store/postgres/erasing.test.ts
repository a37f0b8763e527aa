import { describe, expect, onTestFinished, test } from 'vitest';
import {
  lockEvents,
  lockReplaysAndRemovals,
  removeEvents,
} from '../../../src/store/postgres/admin/removal.ts';
import { retentionOn } from '../../../src/store/postgres/admin/postgres-retention.ts';
import type { Session } from '../../../src/store/postgres/connection/session.ts';
import { requeue } from '../../../src/store/postgres/query/replays.ts';
import { seenOf } from '../conformance/duplicates.ts';
import { reconciledOf } from '../conformance/reconciling.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  dead,
  done,
  endOf,
  endSiblings,
  eventOf,
  handlerOf,
  only,
  record,
  recordEnded,
  firstStep,
  runOf,
} from '../parts.ts';
import {
  asIfTiny,
  openedOnPool,
  openedPostgres,
  statementsThatWait,
  waitsForLock,
} from './opened-postgres.ts';

const until = 10_000;
const limits = { doneBefore: 9_000, deadBefore: 9_000, quarantineBefore: 0, now: 0, traceIdsUntil: until };

/** Everything that is kept of an event by its sequence. */
async function remainsOf(session: Session): Promise<Record<string, number>> {
  const tables = ['events', 'bodies', 'waiting', 'claims', 'runs', 'crash_counts', 'duplicates', 'joins'];
  const counts = tables.map((table) => `(select count(*) from ringback.${table}) as ${table}`);
  return only(await session.query<Record<string, number>>(`select ${counts.join(', ')}`));
}

const nothing = {
  events: 0,
  bodies: 0,
  waiting: 0,
  claims: 0,
  runs: 0,
  crash_counts: 0,
  duplicates: 0,
  joins: 0,
};

describe('erasing in Postgres', () => {
  test('leaves nothing of a call but its identities, whatever its events have come to', async () => {
    const { store, session } = await openedPostgres();
    const callId = 'call-1';
    await recordEnded(store, eventOf('done', { callId }), done);
    await recordEnded(store, eventOf('dead', { callId }), dead);
    const [siblings] = await claimedOf(store, eventOf('siblings', { callId }));
    if (siblings) await endSiblings(store, siblings, { a: dead, b: undefined });
    await store.record(eventOf('in flight', { callId }), true).claimed;
    await record(store, eventOf('waiting', { callId }));
    expect(await store.retention.countCall(callId)).toEqual({ events: 5, runs: 2 });
    expect(await store.retention.eraseCall(callId, until)).toMatchObject({
      events: 5,
      runs: 2,
      hasMore: false,
    });
    expect(await remainsOf(session)).toEqual(nothing);
    for (const traceId of ['done', 'in flight', 'waiting'])
      expect(await record(store, eventOf(traceId))).toBe('duplicate');
  });

  test('an event that is erased at the same time opens no join', async () => {
    const { store, session } = await openedPostgres();
    const events = only(await claimedOf(store, eventOf('a', { callId: 'call-1', eventName: 'Started' })));
    const join = handlerOf('join', {
      join: { events: ['Started', 'Ended'], within: 1_000, runsAgain: false },
    });
    const run = runOf(store, events, join);
    let opening: ReturnType<typeof store.requeue> | undefined;
    await session.write(async (transaction) => {
      await removeEvents(transaction, [events.sequence], until);
      opening = store.requeue(run);
      await waitsForLock(session);
    });
    expect(await opening).toBe('lost');
    expect(await remainsOf(session)).toEqual(nothing);
  });

  test('of an event that is erased at the same time, no duplicates are counted', async () => {
    const { store, session } = await openedPostgres();
    const { sequence } = only(await claimedOf(store, eventOf('a')));
    let counting: Promise<void> | undefined;
    await session.write(async (transaction) => {
      await lockEvents(transaction, [sequence]);
      counting = store.events.addDuplicates([seenOf(eventOf('a'), 5_000)]);
      await waitsForLock(session);
      await removeEvents(transaction, [sequence], until);
    });
    await counting;
    expect(await remainsOf(session)).toEqual(nothing);
  });

  test('an event that is reconciled while its call is erased is not rebuilt', async () => {
    const { store, session, clock } = await openedPostgres();
    const callId = 'call-1';
    const { sequence } = only(
      await claimedOf(store, eventOf('a', { callId, eventName: 'CallHandler.CallStarted' })),
    );
    const { erased, reconciled } = await session.write(async (transaction) => {
      await lockEvents(transaction, [sequence]);
      const erasing = store.retention.eraseCall(callId, until);
      await waitsForLock(session);
      const reconciling = record(store, reconciledOf(callId));
      await Promise.race([reconciling, clock.timer(50)]);
      return { erased: erasing, reconciled: reconciling };
    });
    expect(await erased).toMatchObject({ events: 1, hasMore: false });
    clock.advance(50);
    expect(await reconciled).toBe('duplicate');
    expect(await remainsOf(session)).toEqual(nothing);
  });

  test.each([
    ['settled', 'settle'],
    ['given back', 'requeue'],
    ['counted', 'countAttempt'],
  ] as const)('an event that is %s meanwhile leaves no run behind', async (_, how) => {
    const { store, session } = await openedPostgres();
    const run = await claimedRun(store, eventOf('a'));
    const ends = {
      settle: () => store.settle(run, endOf(dead)),
      requeue: () => store.requeue(run),
      countAttempt: async () => (await store.countAttempt(run)) ?? 'lost',
    };
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    const { promise: removed, resolve: isRemoved } = Promise.withResolvers<void>();
    const erasure = session.write(async (transaction) => {
      await removeEvents(transaction, [run.sequence], until);
      isRemoved();
      await committed;
    });
    await removed;
    const ended = ends[how]();
    await waitsForLock(session);
    commit();
    await erasure;
    expect(await ended).toBe('lost');
    expect(await remainsOf(session)).toEqual(nothing);
  });

  test(
    'by several processes at once, beside those that settle, leaves nothing and fails nowhere',
    { tags: 'long' },
    async () => {
      const { store, session } = await openedPostgres();
      const callId = 'call-1';
      const records = Array.from({ length: 60 }, (_, index) => eventOf(`t-${index}`, { callId }));
      const handler = handlerOf('strict', { order: 'strict' });
      const claimed = await claimedOf(store, ...records);
      const runs = claimed.map((event) => runOf(store, event, handler));
      const sequences = runs.map(({ sequence }) => sequence);
      const eraser = retentionOn(session);
      const settled = runs.map((run, index) => store.settle(run, endOf(index % 2 === 0 ? dead : done)));
      const erased = await Promise.all([
        eraser.eraseCall(callId, until),
        store.retention.eraseCall(callId, until),
        eraser.eraseEvents(sequences, until),
        store.retention.eraseEvents(sequences.toReversed(), until),
      ]);
      await Promise.all(settled);
      expect(erased.reduce((sum, { events }) => sum + events, 0)).toBe(60);
      expect(await remainsOf(session)).toEqual(nothing);
    },
  );
});

test(
  'a process that is lost in the middle of a removal keeps others from removing for seconds only',
  { tags: 'long' },
  async () => {
    const { store, session } = await openedPostgres();
    const { sequence } = only(await claimedOf(store, eventOf('a', { callId: 'call-1' })));
    const held = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    onTestFinished(() => resumed.resolve());
    const removal = session.write(async (transaction) => {
      await lockReplaysAndRemovals(transaction);
      await lockEvents(transaction, [sequence]);
      held.resolve();
      await resumed.promise;
    });
    const outcome = removal.catch((error: unknown) => error);
    await held.promise;
    expect(await store.retention.eraseCall('call-1', until)).toMatchObject({ events: 1 });
    resumed.resolve();
    expect(await outcome).toMatchObject({ code: 'database_unreachable' });
  },
);

describe('retention in Postgres', () => {
  test('cleans in several processes at once, and removes each event once', { tags: 'long' }, async () => {
    const { store, session } = await openedPostgres();
    const records = Array.from({ length: 120 }, (_, index) => eventOf(`t-${index}`));
    for (const event of await claimedOf(store, ...records)) await store.finish(event);
    const cleaners = Array.from({ length: 4 }, () => retentionOn(session));
    const steps = await Promise.all(cleaners.map((each) => each.clean(limits, undefined)));
    expect(steps.reduce((sum, { events }) => sum + events, 0)).toBe(120);
    const late = await Promise.all(cleaners.map((each) => each.clean({ ...limits, now: until }, undefined)));
    expect(late.reduce((sum, { traceIds }) => sum + traceIds, 0)).toBe(120);
  });

  test('forgets all trace ids whose time is over, whatever the plan is', { tags: 'long' }, async () => {
    const { store, pool, schema } = await openedOnPool(undefined, asIfTiny);
    const identities = `${schema}.identities`;
    await pool.query(
      `insert into ${identities} (identity, expires_at)
       select decode(md5(n::text), 'hex'), n from generate_series(1, 1200) as s (n) order by md5(n::text)`,
    );
    let next: string | undefined;
    do ({ next } = await store.retention.clean({ ...limits, now: until }, next));
    while (next !== undefined);
    expect((await pool.query(`select from ${identities}`)).rowCount).toBe(0);
  });

  test('leaves an event alone that a process works on since it recorded it', async () => {
    const { store } = await openedPostgres();
    const inFlight = await store.record(eventOf('in flight'), true).claimed;
    if (!inFlight) throw new Error('It was not claimed.');
    expect(await store.retention.clean(limits, undefined)).toMatchObject({ events: 0 });
    await store.settle(runOf(store, inFlight), endOf(done));
    expect(await store.retention.clean(limits, undefined)).toMatchObject({ events: 1 });
  });

  test('leaves an event alone whose dead letter is requeued meanwhile', async () => {
    const { store, session } = await openedPostgres();
    await recordEnded(store, eventOf('a'), dead);
    const filter = { state: 'dead' } as const;
    const { sequence, callId } = only((await store.events.list(filter, { limit: 2 })).events);
    const candidate = { sequence, callId, handler: 'handler', order: 'none', isJoin: false } as const;
    const write = { candidates: [candidate], onlyDead: true, step: await firstStep(store) };
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
    const { promise: putBack, resolve: isPutBack } = Promise.withResolvers<void>();
    const replayed = session.write(async (transaction) => {
      expect(await requeue(transaction, write)).toHaveLength(1);
      isPutBack();
      await mayCommit;
    });
    await putBack;
    const cleaned = store.retention.clean(limits, undefined);
    await waitsForLock(session);
    commit();
    await replayed;
    expect(await cleaned).toMatchObject({ events: 0, runs: 0 });
    expect(await store.events.get('a')).toMatchObject({ state: 'open' });
  });

  test('leaves an event alone that opens a join as one looks back meanwhile', async () => {
    const { store, session } = await openedPostgres();
    const within = 60_000;
    for (const [callId, receivedAt] of [
      ['call-1', 1],
      ['call-2', 2],
      ['call-1', 9_000],
    ] as const)
      await recordEnded(store, eventOf(`${receivedAt}`, { callId, receivedAt, eventName: 'Started' }), done);
    let lookedBack: Promise<unknown> | undefined;
    let cleaned: ReturnType<typeof store.retention.clean> | undefined;
    // The look back has opened a join for the first call when it waits, and cleaning waits for it.
    await session.write(async (transaction) => {
      await transaction.query("select from ringback.events where call_id = 'call-2' for update");
      const join = { handler: 'join', events: ['Started', 'Ended'], within, runsAgain: true };
      lookedBack = store.calls.lookBack({ ...join, since: 0, after: undefined });
      while ((await statementsThatWait(session)) < 1);
      cleaned = store.retention.clean(limits, undefined);
      while ((await statementsThatWait(session)) < 2);
    });
    await lookedBack;
    expect(await cleaned).toMatchObject({ events: 0, runs: 0 });
    expect(await claimDue(store, handlerOf('join'), { now: 2 * within })).toHaveLength(2);
  });
});
