import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Discard, type DismissOptions, type EventFilter, type Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const reason = 'entered by hand';

const failing = () => {
  throw new Error('the CRM is down');
};

/** Delivers events with these trace ids, one after the other. */
async function deliverAll(receiver: Receiver, traceIds: readonly string[], callId?: string) {
  for (const traceId of traceIds) await deliver(receiver, bodyOf({ traceId, ...(callId && { callId }) }));
}

/** An inbox with three events of a call. Their runs of the handler `gone` wait: one for a retry, two behind it. */
async function inboxWithWaiting(andMore: (receiver: Receiver) => unknown = () => {}): Promise<string> {
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database, retry: { base: '1d' } }, (r) => {
    r.on('*', { name: 'gone', order: 'strict' }, failing);
    andMore(r);
  });
  await deliverAll(receiver, ['one', 'two', 'three'], 'call-1');
  await logs.until('run_retry');
  await expect.poll(async () => (await receiver.counts()).events.open).toBeGreaterThanOrEqual(3);
  await receiver.stop();
  return database;
}

describe('dismissing dead letters', () => {
  test('settles those of that handler with who and why, and leaves everything else', async () => {
    const clock = new ManualClock();
    // A run that is done as the last of its event leaves no row.
    const saved = new Gate();
    const failingLater = () => saved.pass().then(failing);
    const { receiver, logs } = await started({ clock, retry: { attempts: 1 } }, (r) =>
      r
        .on('*', { name: 'save' }, () => {})
        .on('*', { name: 'crm-sync' }, failingLater)
        .on('*', { name: 'also-dead' }, failingLater),
    );
    for (const traceId of ['one', 'two']) {
      const body = bodyOf({ traceId });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    }
    await logs.until('run_done', 2);
    saved.open();
    await logs.until('run_dead', 4);
    clock.advance(1_000);

    const dismissed = await receiver.events.dismiss(
      { state: 'dead', handler: 'crm-sync' },
      { by: 'ann', reason },
    );
    expect(dismissed).toMatchObject({ events: 2, runs: 2, handlers: { 'crm-sync': 2 } });
    expect((await receiver.events.list({ state: 'dead', handler: 'crm-sync' })).events).toEqual([]);
    expect(await receiver.counts()).toMatchObject({ events: { done: 2 }, runs: { dead: 2 } });
    expect((await receiver.events.get('two'))?.runs).toMatchObject([
      { handler: 'also-dead', state: 'dead', reason: 'the CRM is down' },
      {
        handler: 'crm-sync',
        state: 'done',
        reason: 'dismissed by ann: entered by hand (its reason was: the CRM is down)',
        settledAt: new Date(clock.now()),
      },
      { handler: 'save', state: 'done', reason: undefined },
    ]);
    expect(logs.of('runs_dismissed')).toMatchObject([{ events: 2, runs: 2, handlers: ['crm-sync'] }]);
    expect(JSON.stringify(logs.of('runs_dismissed'))).not.toMatch(/\bann\b|entered/v);
  });

  test('without a handler all of them, and the option narrows what the filter finds', async () => {
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r.on('*', { name: 'first' }, failing).on('*', { name: 'second' }, failing),
    );
    await deliverAll(receiver, ['one', 'two']);
    await logs.until('run_dead', 4);
    const { events } = receiver;
    const handlers = { first: 2 };
    expect(await events.dismiss({ state: 'dead' }, { only: 'first', reason })).toMatchObject({ handlers });
    expect(await events.dismiss({ state: 'dead', traceId: 'two' }, { reason })).toMatchObject({ runs: 1 });
    expect(await events.dismiss({ state: 'dead' }, { reason })).toMatchObject({ handlers: { second: 1 } });
    expect((await receiver.counts()).runs.dead).toBe(0);
    expect((await events.get('one'))?.runs[0]?.reason).toMatch(/^dismissed: entered by hand/v);
  });

  test('what was dismissed can be replayed, but is no dead letter', async () => {
    let isBroken = true;
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r.on('*', { name: 'crm-sync' }, () => (isBroken ? failing() : undefined)),
    );
    await deliverAll(receiver, ['one', 'two']);
    await logs.until('run_dead', 2);
    await receiver.events.dismiss({ state: 'dead' }, { reason });
    isBroken = false;
    expect(await receiver.events.replay({ state: 'dead' })).toMatchObject({ runs: 0 });
    expect(await receiver.events.replay({ traceId: 'one' })).toMatchObject({ runs: 1 });
    await logs.until('run_done');
    expect((await receiver.events.get('one'))?.runs).toMatchObject([
      { state: 'done', reason: undefined, replay: 3 },
    ]);
    expect(await receiver.events.replay({ handler: 'crm-sync' })).toMatchObject({ runs: 2 });
    await logs.until('run_done', 3);
  });

  test('beside a replay and another process each run is taken once', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    let isBroken = true;
    const { receiver, logs } = await started({ database, retry: { attempts: 1 } }, (r) =>
      r.on('*', { name: 'crm-sync' }, () => (isBroken ? failing() : undefined)),
    );
    const traceIds = Array.from({ length: 350 }, (_, index) => `trace-${index}`);
    await Promise.all(traceIds.map((traceId) => deliver(receiver, bodyOf({ traceId }))));
    await logs.until('run_dead', traceIds.length);
    isBroken = false;
    const { receiver: other } = await started({ database }, () => {});
    const filter = { state: 'dead' } as const;
    const [replayed, here, there] = await Promise.all([
      receiver.events.replay(filter),
      receiver.events.dismiss(filter, { reason }),
      other.events.dismiss(filter, { reason }),
    ]);
    expect(replayed.runs + here.runs + there.runs).toBe(traceIds.length);
    await logs.until('run_done', replayed.runs);
    expect(await receiver.counts()).toMatchObject({ events: { done: traceIds.length }, runs: { dead: 0 } });
    expect(logs.of('run_done')).toHaveLength(replayed.runs);
  });
});

describe('dismissing runs of a removed handler', () => {
  test('settles what waits, and the events are done', { tags: 'long' }, async () => {
    const database = await inboxWithWaiting();
    const { receiver } = await started({ database });
    expect((await receiver.counts()).events).toMatchObject({ open: 3 });
    const dismissed = await receiver.events.dismiss({ handler: 'gone' }, { by: 'ann', reason: 'renamed' });
    expect(dismissed).toMatchObject({ events: 3, runs: 3, handlers: { gone: 3 } });
    expect(await receiver.counts()).toMatchObject({
      events: { new: 0, open: 0, done: 3 },
      runs: { due: 0, blocked: 0, dead: 0 },
    });
    expect((await receiver.events.get('one'))?.runs).toMatchObject([
      {
        state: 'done',
        dueAt: undefined,
        reason: expect.stringMatching(/^dismissed by ann: renamed .*the CRM is down/v) as string,
      },
    ]);
    expect((await receiver.events.get('two'))?.runs).toMatchObject([
      { state: 'done', reason: 'dismissed by ann: renamed' },
    ]);
    await receiver.stop();
    expect((await started({ database })).logs.of('handler_missing')).toEqual([]);
  });

  test('of one that was renamed, when a replay has run them under the new name', async () => {
    const database = await inboxWithWaiting();
    const seen: string[] = [];
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', { name: 'renamed' }, ({ traceId }) => void seen.push(traceId)),
    );
    const waiting = { state: 'open', handler: 'gone' } as const;
    expect(await receiver.events.replay(waiting, { only: 'renamed' })).toMatchObject({ runs: 3 });
    await logs.until('run_done', 3);
    expect(seen).toEqual(['one', 'two', 'three']);
    expect(await receiver.events.dismiss(waiting, { reason: 'renamed' })).toMatchObject({ runs: 3 });
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 3 });
  });

  test('by the state of their events: dead letters only, or open runs only', { tags: 'long' }, async () => {
    const database = await inboxWithWaiting((r) =>
      r.on('*', { name: 'given-up' }, () => {
        throw new Discard('never');
      }),
    );
    const { receiver, logs } = await started({ database, retry: { attempts: 1 } }, (r) =>
      r.on('*', { name: 'present' }, failing),
    );
    await deliverAll(receiver, ['four']);
    await logs.until('run_dead');
    const dryRun = true;
    const { events } = receiver;
    const { handlers } = await events.dismiss({ state: 'dead' }, { reason, dryRun });
    expect(handlers).toEqual({ present: 1, 'given-up': 3 });
    expect(await events.dismiss({ state: 'dead', handler: 'gone' }, { reason })).toMatchObject({ runs: 0 });
    expect(await events.dismiss({ state: 'done', handler: 'gone' }, { reason })).toMatchObject({ runs: 0 });
    expect(await events.dismiss({ state: 'open', handler: 'given-up' }, { reason })).toMatchObject({
      runs: 0,
    });
    expect(await events.dismiss({ state: 'open', handler: 'gone' }, { reason })).toMatchObject({ runs: 3 });
    expect(await events.dismiss({ handler: 'given-up' }, { reason })).toMatchObject({ runs: 3 });
  });

  test('leaves dead letters of open events alone where open runs are asked for', async () => {
    const database = await inboxWithWaiting((r) =>
      r.on('*', { name: 'given-up' }, () => {
        throw new Discard('never');
      }),
    );
    const { receiver } = await started({ database });
    const open = { state: 'open', handler: 'given-up' } as const;
    expect(await receiver.events.dismiss(open, { reason })).toMatchObject({ runs: 0 });
    expect((await receiver.counts()).runs.dead).toBe(3);
  });

  test('of a join: it does not wait again for that call', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const seen: string[] = [];
    const join = (r: Receiver) =>
      r.onCall(
        { name: 'join', events: ['a.first', 'a.second'], within: '1h' },
        ({ callId }) => void seen.push(callId),
      );
    const before = await started({ database }, join);
    await deliver(before.receiver, bodyOf({ eventName: 'a.first', callId: 'call-1' }));
    await expect.poll(async () => (await before.receiver.counts()).runs.due).toBeGreaterThanOrEqual(1);
    await before.receiver.stop();
    const without = await started({ database });
    expect(await without.receiver.events.dismiss({ handler: 'join' }, { reason })).toMatchObject({ runs: 1 });
    await without.receiver.stop();
    const { receiver, logs } = await started({ database }, join);
    await deliver(receiver, bodyOf({ eventName: 'a.second', callId: 'call-1' }));
    for (const eventName of ['a.first', 'a.second'])
      await deliver(receiver, bodyOf({ eventName, callId: 'call-2' }));
    await logs.until('run_done');
    expect(seen).toEqual(['call-2']);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 4 });
  });

  test('not while another process has it, except for one event', async () => {
    const database = await inboxWithWaiting();
    const again = await started({ database, retry: { base: '1d' } }, (r) =>
      r.on('*', { name: 'gone', order: 'strict' }, failing),
    );
    const { receiver } = await started({ database });
    const { events } = receiver;
    for (const filter of [{ handler: 'gone' }, { handler: 'gone', state: 'open' }] as const)
      for (const dryRun of [true, false])
        await expect(events.dismiss(filter, { reason, dryRun })).rejects.toThrow(
          'it is registered in another process and will run them',
        );
    expect((await receiver.counts()).events).toMatchObject({ open: 3 });
    expect(await events.dismiss({ handler: 'gone', state: 'dead' }, { reason })).toMatchObject({ runs: 0 });
    const last = { handler: 'gone', traceId: 'three' };
    expect(await events.dismiss(last, { reason })).toMatchObject({ runs: 1 });
    await again.receiver.stop();
    expect(await events.dismiss({ handler: 'gone' }, { reason })).toMatchObject({ runs: 2 });
  });

  test('unblocks the runs that order strict blocks behind them', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const seen: string[] = [];
    const handling = await started({ database, clock, retry: { base: '1d', cap: '1d' } }, (r) =>
      r.on('*', { name: 'elsewhere', order: 'strict' }, ({ traceId }) =>
        traceId === 'one' ? failing() : void seen.push(traceId),
      ),
    );
    for (const traceId of ['one', 'two', 'three']) {
      const body = bodyOf({ traceId, callId: 'call-1' });
      await deliver(handling.receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    }
    await handling.logs.until('run_retry');
    const { receiver } = await started({ database }, () => {});
    await expect.poll(async () => (await receiver.counts()).runs.blocked).toBeGreaterThanOrEqual(2);
    await receiver.events.dismiss({ handler: 'elsewhere', traceId: 'one' }, { reason });
    await clock.runUntil(handling.logs.until('run_done', 2));
    expect(seen).toEqual(['two', 'three']);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 3 });
  });
});

test('a dry run returns exactly what is then dismissed, and changes nothing', { tags: 'long' }, async () => {
  const database = await inboxWithWaiting();
  const { receiver, logs } = await started({ database, retry: { attempts: 1 } }, (r) =>
    r.on('*', { name: 'crm-sync' }, failing).on('*', { name: 'also-dead' }, failing),
  );
  const traceIds = Array.from({ length: 120 }, (_, index) => `trace-${index}`);
  await deliverAll(receiver, traceIds, 'call-2');
  await logs.until('run_dead', 240);
  const filters: readonly EventFilter[] = [
    { state: 'dead', traceId: 'trace-1' },
    { handler: 'gone', traceId: 'two' },
    { handler: 'gone' },
    { state: 'dead', handler: 'also-dead' },
    { state: 'dead', callId: 'call-2' },
  ];
  for (const filter of filters) {
    const before = await receiver.counts();
    const foreseen = await receiver.events.dismiss(filter, { reason, dryRun: true });
    expect(await receiver.counts(), JSON.stringify(filter)).toEqual(before);
    const { events, runs, handlers } = foreseen;
    expect(await receiver.events.dismiss(filter, { reason }), JSON.stringify(filter)).toMatchObject({
      state: 'done',
      events,
      runs,
      handlers,
    });
    expect(foreseen.runs).toBeGreaterThan(0);
    // The same filter once more finds nothing.
    expect(await receiver.events.dismiss(filter, { reason })).toMatchObject({ events: 0, runs: 0 });
  }
  expect(logs.of('runs_dismissed')).toHaveLength(2 * filters.length);
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 123 });
});

test.each<[EventFilter, Partial<DismissOptions>, string]>([
  [{}, {}, 'at least one condition'],
  [{}, { only: 'gone' }, "{ state: 'dead' }"],
  [{ callId: 'call-1' }, {}, 'one with the handler that was removed'],
  [
    { handler: 'crm-sync' },
    {},
    'The handler "crm-sync" should be removed before its open runs are dismissed',
  ],
  [{ state: 'open' }, { only: 'fallback' }, 'The handler "fallback" should be removed'],
  [{ state: 'dead' }, { reason: ' ' }, 'reason in events.dismiss should be text that is not empty'],
  [{ state: 'dead' }, { by: '' }, 'by in events.dismiss should be text that is not empty'],
  [{ state: 'dead' }, { reason: undefined as never }, 'reason in events.dismiss should be'],
  [{ state: 'dead', limit: 3 } as EventFilter, {}, 'There is no option limit in events.dismiss'],
])('refuses %j with %j and says why', async (filter, options, sentence) => {
  const { receiver } = await started({}, (r) => r.on('*', { name: 'crm-sync' }, () => {}).fallback(() => {}));
  for (const dryRun of [true, false]) {
    const dismissing = receiver.events.dismiss(filter, { reason, ...options, dryRun });
    await expect(dismissing).rejects.toThrow(sentence);
  }
});
