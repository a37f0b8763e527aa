import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { type EventFilter, type Receiver, type ReplayOptions, type RunReplay } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** The rows that a query finds after the receiver has stopped. */
async function rowsOf(database: string, receiver: Receiver, sql: string): Promise<unknown[]> {
  await receiver.stop({ drain: 0 });
  return rowsIn(database, sql);
}

/** Delivers three events, signed at the clock's time. */
async function deliverThree(receiver: Receiver, clock: ManualClock): Promise<void> {
  for (const traceId of ['one', 'two', 'three']) {
    const body = bodyOf({ traceId });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  }
}

/** A handler whose runs become dead letters until the test repairs it. */
function breakable() {
  const seen: string[] = [];
  const replays: (RunReplay | undefined)[] = [];
  const state = { isBroken: true, seen, replays };
  const handle = ({ traceId }: { traceId: string }, { replay }: { replay: RunReplay | undefined }) => {
    if (state.isBroken) throw new Error('the CRM is down');
    seen.push(traceId);
    replays.push(replay);
  };
  return { ...state, state, handle };
}

describe('replaying dead letters', () => {
  test('runs the dead runs of that handler, and nothing else of their events', { tags: 'long' }, async () => {
    const crm = breakable();
    const saved: string[] = [];
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r
        .on('*', { name: 'save' }, ({ traceId }) => void saved.push(traceId))
        .on('*', { name: 'crm-sync' }, crm.handle)
        .on('*', { name: 'also-dead' }, () => {
          throw new Error('never');
        }),
    );
    for (const traceId of ['one', 'two']) await deliver(receiver, bodyOf({ traceId }));
    await logs.until('run_dead', 4);
    await logs.until('run_done', 2);
    crm.state.isBroken = false;
    await deliver(receiver, bodyOf({ traceId: 'three' }));
    await logs.until('run_done', 4);
    await logs.until('run_dead', 5);

    const filter = { state: 'dead', handler: 'crm-sync' } as const;
    const foreseen = await receiver.events.replay(filter, { dryRun: true });
    expect(foreseen).toEqual({
      id: undefined,
      state: undefined,
      events: 2,
      runs: 2,
      handlers: { 'crm-sync': 2 },
    });
    const { id, ...done } = await receiver.events.replay(filter);
    expect(done).toEqual({ state: 'done', events: 2, runs: 2, handlers: { 'crm-sync': 2 } });
    expect(id).toBeTypeOf('number');
    await logs.until('run_done', 6);
    expect(crm.seen).toEqual(['three', 'one', 'two']);
    expect(saved).toEqual(['one', 'two', 'three']);
    expect((await receiver.events.list(filter)).events).toEqual([]);
    expect((await receiver.events.list({ state: 'dead', handler: 'also-dead' })).events).toHaveLength(3);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 3 });
  });

  test(
    'keeps the reason until the run is settled, restarts its attempts, and may end dead again',
    { tags: 'long' },
    async () => {
      const crm = breakable();
      const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
        r.on('*', { name: 'crm-sync' }, crm.handle),
      );
      await deliver(receiver, bodyOf({ traceId: 'one' }));
      await logs.until('run_dead');
      await receiver.handlers.pause('crm-sync');
      await receiver.events.replay({ state: 'dead' });
      const run = { handler: 'crm-sync', reason: 'the CRM is down', replay: 2 };
      expect(await receiver.events.get('one')).toMatchObject({
        state: 'open',
        runs: [{ ...run, state: 'due', attempts: 0, settledAt: undefined }],
      });
      // A run that waits is left alone.
      expect(await receiver.events.replay({ state: 'dead' })).toMatchObject({ id: 3, runs: 0 });
      await receiver.handlers.resume('crm-sync');
      await logs.until('run_dead', 2);
      expect(await receiver.events.get('one')).toMatchObject({
        state: 'done',
        runs: [{ ...run, state: 'dead', attempts: 1, dueAt: undefined }],
      });
      expect(await receiver.events.replay({ state: 'dead' })).toMatchObject({ runs: 1 });
      await logs.until('run_dead', 3);
    },
  );

  test('leaves those whose handler is removed or no longer matches the event', async () => {
    const database = temporaryDatabase();
    const failing = () => {
      throw new Error('never');
    };
    const first = await started({ database, retry: { attempts: 1 } }, (r) =>
      r.on('*', { name: 'gone' }, failing).on('*', { name: 'narrowed' }, failing),
    );
    await deliver(first.receiver);
    await first.logs.until('run_dead', 2);
    await first.receiver.stop();
    const { receiver } = await started({ database }, (r) =>
      r.on('callAnalysis.*', { name: 'narrowed' }, () => {}).on('*', { name: 'other' }, () => {}),
    );
    expect(await receiver.events.replay({ state: 'dead' })).toMatchObject({
      events: 0,
      runs: 0,
      handlers: {},
    });
    expect(await receiver.events.replay({ state: 'dead', handler: 'narrowed' })).toMatchObject({ runs: 0 });
    expect((await receiver.counts()).runs.dead).toBe(2);
  });
});

describe('replaying events', () => {
  test('gives them to the handlers that take them now, or to the one that is named', async () => {
    const database = temporaryDatabase();
    const first = await started({ database });
    for (const traceId of ['one', 'two'])
      await deliver(first.receiver, bodyOf({ traceId, callId: 'call-1' }));
    await deliver(first.receiver, bodyOf({ traceId: 'three', eventName: 'callAnalysis.pcaCompleted' }));
    await first.logs.until('event_unhandled', 3);
    await first.receiver.stop();

    const seen: string[] = [];
    const see = (name: string) => (event: { traceId: string }) => void seen.push(`${name} ${event.traceId}`);
    const { receiver, logs } = await started({ database }, (r) =>
      r
        .on('CallHandler.*', { name: 'ended' }, see('ended'))
        .on('*', { name: 'all', concurrency: 1 }, see('all'))
        .fallback(see('fallback')),
    );
    const all = await receiver.events.replay({ since: 0 });
    expect(all).toMatchObject({ events: 3, runs: 5, handlers: { ended: 2, all: 3 } });
    await logs.until('run_done', 5);
    expect(seen.toSorted()).toEqual(['all one', 'all three', 'all two', 'ended one', 'ended two']);
    const named = await receiver.events.replay({ callId: 'call-1' }, { only: 'ended' });
    expect(named).toMatchObject({ events: 2, runs: 2, handlers: { ended: 2 } });
    await logs.until('run_done', 7);
  });

  test('leaves open runs alone: waiting, active, and not begun', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r
        .on('*', { name: 'quick', order: 'none' }, () => {})
        .on('*', { name: 'waiting', order: 'none' }, () => {
          throw new Error('not yet');
        })
        .on('*', { name: 'active', concurrency: 1, timeout: '1d', order: 'none' }, gate.pass),
    );
    for (const traceId of ['one', 'two']) {
      const body = bodyOf({ traceId });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    }
    await logs.until('run_retry', 2);
    await logs.until('run_done', 2);
    await gate.reached;
    const before = await receiver.counts();
    for (const dryRun of [true, false]) {
      expect(await receiver.events.replay({ since: 0 }, { dryRun, only: 'waiting' })).toMatchObject({
        runs: 0,
      });
      expect(await receiver.events.replay({ since: 0 }, { dryRun, only: 'active' })).toMatchObject({
        runs: 0,
      });
    }
    expect(await receiver.counts()).toEqual(before);
    expect((await receiver.events.get('one'))?.runs).toMatchObject([
      { handler: 'quick', replay: undefined },
      { handler: 'waiting', attempts: 1, replay: undefined },
    ]);
    // The handler that is done with the events can run again while the others still work on them.
    expect(await receiver.events.replay({ since: 0 })).toMatchObject({ handlers: { quick: 2 } });
    await logs.until('run_done', 4);
    gate.open();
    await logs.until('run_done', 6);
  });

  test('is marked in the run, in its context and in the log, and recorded with who, when, why and how many', async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const crm = breakable();
    const { receiver, logs } = await started({ database, clock, retry: { attempts: 1 } }, (r) =>
      r.on('*', { name: 'crm-sync' }, crm.handle),
    );
    await deliverThree(receiver, clock);
    await logs.until('run_dead', 3);
    crm.state.isBroken = false;
    await receiver.events.replay({ state: 'dead' }, { by: 'someone', reason: 'the CRM is back' });
    const done = await logs.until('run_done', 3);
    const mark = { id: 1, by: 'someone', reason: 'the CRM is back' };
    expect(crm.replays).toEqual([mark, mark, mark]);
    expect(done.map(({ replay }) => replay)).toEqual([1, 1, 1]);
    expect(logs.of('events_replayed')).toMatchObject([{ replay: 1, events: 3, runs: 3 }]);
    expect((await receiver.events.get('two'))?.runs).toMatchObject([
      { state: 'done', replay: 1, reason: undefined },
    ]);
    await receiver.events.replay({ traceId: 'two' }, { dryRun: true });
    await receiver.events.replay({ traceId: 'two', since: clock.now() + 1 });
    const rows = await rowsOf(database, receiver, 'select * from audit order by id');
    expect(rows).toMatchObject([
      { id: 1, requested_by: 'someone', reason: 'the CRM is back', events: 3, runs: 3 },
      { id: 2, requested_by: null, reason: null, events: 0, runs: 0 },
    ]);
    expect(rows[0]).toMatchObject({ action: 'replay', what: '{"state":"dead"}', requested_at: clock.now() });
  });

  test('requeues their runs one after the other at the given rate, also if the wall clock is set', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.on('*', { name: 'seeing' }, ({ traceId }) => void seen.push(traceId)),
    );
    await deliverThree(receiver, clock);
    await logs.until('run_done', 3);
    const replaying = receiver.events.replay({ since: 0 }, { rate: 2 });
    await logs.until('run_done', 4);
    for (const count of [5, 6]) {
      await clock.timer(500);
      clock.setWallClock(3_600_000);
      clock.advance(499);
      expect(seen).toHaveLength(count - 1);
      clock.advance(1);
      await logs.until('run_done', count);
    }
    expect(await replaying).toMatchObject({ runs: 3, state: 'done' });
    expect(seen.slice(3)).toEqual(['one', 'two', 'three']);
  });

  test('requeues no more at once after it was held up', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock }, (r) => r.on('*', { name: 'seeing' }, () => {}));
    await deliverThree(receiver, clock);
    await logs.until('run_done', 3);
    const replaying = receiver.events.replay({ since: 0 }, { rate: 2 });
    await logs.until('run_done', 4);
    await clock.timer(500);
    clock.advance(10_000);
    await logs.until('run_done', 5);
    // It makes up for the twenty milliseconds by which a timer may be late.
    await clock.timer(480);
    expect(logs.of('run_done')).toHaveLength(5);
    clock.advance(480);
    expect(await replaying).toMatchObject({ runs: 3, state: 'done' });
  });

  test('is stopped at once, without waiting for its next step', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock }, (r) => r.on('*', { name: 'seeing' }, () => {}));
    await deliverThree(receiver, clock);
    await logs.until('run_done', 3);
    const replaying = receiver.events.replay({ since: 0 }, { rate: 0.01 });
    await logs.until('run_done', 4);
    const [running] = await receiver.audit.running();
    expect(await receiver.events.stop(running?.id ?? 0)).toBe(true);
    expect(await replaying).toMatchObject({ runs: 1, state: 'stopped' });
  });

  test.skipIf(isOnPostgres)("commits a run's effects again, because that is what was asked for", async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', { name: 'save' }, (event, { commit, replay }) =>
        commit((db) => {
          db.exec('create table if not exists orders (trace_id text, replay integer)');
          db.prepare('insert into orders values (?, ?)').run(event.traceId, replay?.id);
        }),
      ),
    );
    await deliver(receiver, bodyOf({ traceId: 'one' }));
    await logs.until('run_done');
    await receiver.events.replay({ traceId: 'one' });
    await logs.until('run_done', 2);
    expect(await rowsOf(database, receiver, 'select trace_id, replay from orders')).toEqual([
      { trace_id: 'one', replay: null },
      { trace_id: 'one', replay: 1 },
    ]);
  });

  test.each<[EventFilter, ReplayOptions, string]>([
    [{}, {}, 'at least one condition'],
    [{ callId: undefined }, {}, '{ since: 0 }'],
    [{ state: 'dead', handler: 'crm-sink' }, {}, 'Did you mean "crm-sync"?'],
    [{ state: 'dead' }, { only: 'nothing-like-it' }, 'The handlers are: crm-sync, fallback.'],
    [{ state: 'dead', limit: 3 } as EventFilter, {}, 'There is no option limit in events.replay'],
    [
      { since: 0 },
      { rate: 0 },
      'rate in events.replay should be a number of runs per second, above 0, but is 0',
    ],
    [{ since: 0 }, { dryrun: true } as ReplayOptions, 'Did you mean dryRun?'],
  ])('refuses %j with %j and says why', async (filter, options, sentence) => {
    const { receiver } = await started({}, (r) =>
      r.on('*', { name: 'crm-sync' }, () => {}).fallback(() => {}),
    );
    await expect(receiver.events.replay(filter, options)).rejects.toThrow(sentence);
    await expect(receiver.events.replay(filter, { ...options, dryRun: true })).rejects.toThrow(sentence);
  });
});

test('a dry run returns exactly what is then run, and changes nothing', { tags: 'long' }, async () => {
  const database = temporaryDatabase();
  const crm = breakable();
  const { receiver, logs } = await started({ database, retry: { attempts: 1 } }, (r) =>
    r
      .on('*', { name: 'crm-sync' }, crm.handle)
      .on('CallHandler.*', { name: 'strict', order: 'strict' }, () => {})
      .onCall({ name: 'join', events: ['CallHandler.CallEnded', 'x.y'], within: '1h' }, () => {})
      .fallback(() => {}),
  );
  for (let call = 0; call < 4; call += 1) {
    for (const eventName of ['CallHandler.CallStarted', 'CallHandler.CallEnded', 'x.y']) {
      await deliver(receiver, bodyOf({ callId: `call-${call}`, eventName }));
    }
  }
  await logs.until('run_dead', 12);
  await logs.until('run_done', 8 + 4);
  crm.state.isBroken = false;
  await deliver(receiver, bodyOf({ callId: 'call-5' }));
  await logs.until('run_done', 14);
  // Its join waits.
  await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 1 });
  const filters: EventFilter[] = [
    { state: 'dead' },
    { callId: 'call-1' },
    { eventName: 'x.y' },
    { handler: 'strict' },
    { handler: 'join' },
    { since: 0 },
  ];
  for (const [index, filter] of filters.entries()) {
    const settled = logs.of('run_done').length;
    const before = await receiver.counts();
    const foreseen = await receiver.events.replay(filter, { dryRun: true });
    expect(await receiver.counts(), JSON.stringify(filter)).toEqual(before);
    expect(logs.of('run_done')).toHaveLength(settled);
    expect(await receiver.events.replay(filter), JSON.stringify(filter)).toEqual({
      ...foreseen,
      id: index + 1,
      state: 'done',
    });
    const done = (await logs.until('run_done', settled + foreseen.runs)).slice(settled);
    const handlers = Object.fromEntries(
      Object.keys(foreseen.handlers).map((name) => [
        name,
        done.filter(({ handler }) => handler === name).length,
      ]),
    );
    expect(handlers).toEqual(foreseen.handlers);
    expect(foreseen.runs).toBeGreaterThan(0);
  }
  // The join of the last call still waits.
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 1, done: 12 });
});

test('a join is replayed as a join: one run a call, which sees the whole call', async () => {
  const calls: [string, boolean][] = [];
  const { receiver, logs } = await started({}, (r) =>
    r.onCall(
      { name: 'save-order', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '1h' },
      (call, { replay }) => {
        expect(call.complete).toBe(true);
        calls.push([call.callId, replay !== undefined]);
      },
    ),
  );
  for (const callId of ['call-1', 'call-2']) {
    await deliver(receiver, bodyOf({ callId }));
    await deliver(receiver, bodyOf({ callId, eventName: 'callAnalysis.pcaCompleted' }));
  }
  await logs.until('run_done', 2);
  const result = await receiver.events.replay({ since: 0 });
  expect(result).toMatchObject({ events: 2, runs: 2, handlers: { 'save-order': 2 } });
  await logs.until('run_done', 4);
  expect(new Map(calls.slice(2))).toEqual(
    new Map([
      ['call-1', true],
      ['call-2', true],
    ]),
  );
  // The join is also replayed through an event that it did not begin with.
  expect(
    await receiver.events.replay({ eventName: 'callAnalysis.pcaCompleted', callId: 'call-1' }),
  ).toMatchObject({ runs: 1 });
  await logs.until('run_done', 5);
  expect(calls.at(-1)).toEqual(['call-1', true]);
});
