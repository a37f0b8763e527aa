/** What the inbox tells of the joins of a call. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { Discard, type JoinOptions, type Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { deliverEvent, names, settled } from './call-events.ts';

const within = 120_000;
const terms = {
  name: 'save-order',
  events: [names.ended, names.analysed],
  within,
} as const satisfies JoinOptions;
const call = { callId: 'call-1' };

/** A receiver with the join and a handler that has dead letters of the same events, and when it started. */
async function joining(handle: Parameters<Receiver['onCall']>[1] = () => {}) {
  const clock = new ManualClock();
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ clock, database, random: () => 0.5 }, (r) => {
    r.onCall(terms, handle);
    r.on(names.ended, { name: 'another' }, () => {
      throw new Discard('no such customer');
    });
  });
  const begin = new Date(clock.now());
  const later = (by: number) => new Date(begin.getTime() + by);
  return { receiver, logs, clock, database, begin, later, joins: () => receiver.calls.joins('call-1') };
}

/** Lets the time of the join that waits pass. */
async function timeOut(clock: ManualClock): Promise<void> {
  await clock.timer(within);
  clock.advance(within);
}

describe('of a join, the inbox tells', () => {
  test('nothing in a call without its events', async () => {
    const { receiver, joins } = await joining();
    await deliverEvent(receiver, { ...call, name: 'started', traceId: 't-0' });
    await settled(receiver, 't-0');
    expect(await joins()).toEqual([]);
    expect(await receiver.calls.joins('another')).toEqual([]);
  });

  test('since when and until when it waits, for what, and what is missing', async () => {
    const { receiver, clock, joins, begin, later } = await joining();
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(1_000);
    await deliverEvent(receiver, { ...call, name: 'started', traceId: 't-2' });
    await settled(receiver, 't-2');
    const waits = { since: begin, until: later(within), called: undefined };
    expect(await joins()).toEqual([
      {
        handler: 'save-order',
        events: [names.ended, names.analysed],
        missing: [names.ended],
        ...waits,
        runs: [expect.objectContaining({ traceId: 't-1', state: 'due', attempts: 0, dueAt: later(within) })],
      },
    ]);
  });

  test('that it was called with all of its events, and when that was done', async () => {
    const { receiver, logs, clock, joins, begin, later } = await joining();
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(1_000);
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await logs.until('run_done');
    const called = { complete: true, missing: [] };
    expect(await joins()).toMatchObject([
      {
        missing: [],
        since: begin,
        called,
        runs: [{ traceId: 't-1', state: 'done', settledAt: later(1_000) }],
      },
    ]);
    expect((await joins())[0]?.until).toBeUndefined();
  });

  test('that its time was over, and that it ran again for what came late', async () => {
    const { receiver, logs, clock, joins, later } = await joining();
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await timeOut(clock);
    await logs.until('run_done');
    const first = { traceId: 't-1', state: 'done', settledAt: later(within) };
    const called = { complete: false, missing: [names.analysed] };
    expect(await joins()).toMatchObject([{ missing: [names.analysed], called, runs: [first] }]);
    clock.advance(1_000);
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await logs.until('run_done', 2);
    const second = { traceId: 't-2', state: 'done', settledAt: later(within + 1_000) };
    expect(await joins()).toMatchObject([
      { missing: [], called: { complete: true, missing: [] }, runs: [second, first] },
    ]);
  });

  test('that it fails, and is given up', async () => {
    const { receiver, logs, clock, joins, later } = await joining((_, { attempt }) => {
      throw attempt === 1 ? new Error('the shop is closed') : new Discard('no such order');
    });
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await timeOut(clock);
    await logs.until('run_retry');
    const called = { complete: false, missing: [names.analysed] };
    const retried = { state: 'due', attempts: 1, reason: 'the shop is closed', dueAt: later(within + 500) };
    const [failing] = await joins();
    expect(failing).toMatchObject({ called, runs: [retried] });
    expect(failing?.until).toBeUndefined();
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_dead', 2);
    expect(await joins()).toMatchObject([{ called, runs: [{ state: 'dead', attempts: 2 }] }]);
  });

  test('the same to a receiver without the join', async () => {
    const { receiver, clock, database, joins } = await joining();
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    const known = await joins();
    const { receiver: other } = await started({ clock, database }, () => {});
    expect(await other.calls.joins('call-1')).toEqual(known);
    expect(known).toHaveLength(1);
  });

  test('nothing once the call is erased', async () => {
    const { receiver, clock, joins } = await joining();
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    await receiver.erase(call);
    expect(await joins()).toEqual([]);
  });
});
