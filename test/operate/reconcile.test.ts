import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import {
  type CallEvent,
  ConfigError,
  type ReadCall,
  type Receiver,
  type ReconcileOptions,
} from '../support/public.ts';
import { started } from '../support/receiver.ts';

/** The machine's time, so that what is signed now is within the tolerance. */
const start = Date.now();
const before = (ms: number) => new Date(start - ms).toISOString();
const [startedName, endedName, analysedName] = [
  'CallHandler.CallStarted',
  'CallHandler.CallEnded',
  'callAnalysis.pcaCompleted',
];
const endedCall = {
  call_status: 'ended',
  call_start_time: before(600_000),
  call_end_time: before(300_000),
  ai_agent_id: 'agent_1',
};
const notReady = Object.assign(new Error('not ready'), { code: 'not_ready' });

/** Reads calls back from an object of answers; an error is thrown. */
function readersOf(answers: Readonly<Record<string, ReadCall | Error>>, analysis: unknown = {}) {
  const asked: string[] = [];
  const readers: Pick<ReconcileOptions, 'calls' | 'analyses' | 'since' | 'ids'> = {
    calls: {
      async get(callId) {
        asked.push(callId);
        const answer = answers[callId] ?? new Error('none of this id');
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    analyses: {
      async get(agentId, callId, { timeout }) {
        asked.push(`${agentId} ${callId} ${timeout}`);
        if (analysis instanceof Error) throw analysis;
      },
    },
    since: '1h',
    ids: () => Object.keys(answers),
  };
  return { readers, asked };
}

/** A receiver, and the events that its handler was given. */
async function receiving() {
  const events: CallEvent[] = [];
  const clock = new ManualClock(start);
  const take = (receiver: Receiver) => receiver.on('*', (event: CallEvent) => void events.push(event));
  const { receiver, logs } = await started({ clock }, take);
  return { receiver, logs, events, clock };
}

describe('receiver.reconcile', () => {
  test('rebuilds start, end and analysis of a call in the documented envelope, without guesses', async () => {
    const { receiver, events } = await receiving();
    const { readers } = readersOf({ 'call-1': { ...endedCall, organization_id: 'org_1' } });
    expect(await receiver.reconcile(readers)).toEqual({
      calls: 1,
      recorded: 3,
      alreadyThere: 0,
      notEnded: 0,
      notAnalysed: 0,
      tooOld: 0,
      failed: 0,
      failures: [],
    });
    await expect.poll(() => events.length).toBe(3);
    const common = { organizationId: 'org_1', payload: { call_id: 'call-1', agent_id: 'agent_1' } };
    const bodies = [
      [startedName, 'CallStarted', endedCall.call_start_time],
      [endedName, 'CallEnded', endedCall.call_end_time],
      [analysedName, 'pcaCompleted', undefined],
    ].map(([eventName, event, timestamp]) => ({
      traceId: `reconciled:${eventName}:call-1`,
      ...common,
      eventName,
      event,
      ...(timestamp !== undefined && { timestamp }),
    }));
    expect(events.map(({ body }) => body)).toStrictEqual(bodies);
    for (const event of events) expect(event).toMatchObject({ source: 'reconciled', issues: [] });
    expect(await receiver.calls.get('call-1')).toMatchObject({ status: 'analysed', durationMs: 300_000 });
    expect(await receiver.drift.list()).toEqual([]);
    const whole = await receiver.events.get(`reconciled:${endedName}:call-1`);
    expect(whole).toMatchObject({
      source: 'reconciled',
      headers: {},
      occurredAt: new Date(endedCall.call_end_time),
    });
  });

  test('what was delivered says so', async () => {
    const { receiver, events } = await receiving();
    await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
    await expect.poll(() => events).toMatchObject([{ source: 'delivered' }]);
    expect(await receiver.events.get('trace-1')).toMatchObject({ source: 'delivered' });
  });

  test('records what is missing and nothing else, and asks for nothing of a call that is complete', async () => {
    const { receiver, events } = await receiving();
    await deliver(receiver, bodyOf({ eventName: endedName, callId: 'call-1' }));
    const { readers, asked } = readersOf({ 'call-1': endedCall });
    expect(await receiver.reconcile(readers)).toMatchObject({ recorded: 2, alreadyThere: 1 });
    expect(asked).toEqual(['call-1', 'agent_1 call-1 0']);
    expect(await receiver.reconcile(readers)).toMatchObject({ recorded: 0, alreadyThere: 3 });
    expect(asked).toHaveLength(2);
    await expect.poll(() => events.length).toBe(3);
  });

  test('a late delivery is answered as a duplicate, and no handler gets it', async () => {
    const { receiver, events } = await receiving();
    await receiver.reconcile(readersOf({ 'call-1': endedCall }).readers);
    for (const eventName of [startedName, endedName, analysedName]) {
      const { status, json } = await deliver(receiver, bodyOf({ eventName, callId: 'call-1' }));
      expect([status, json.status]).toEqual([200, 'duplicate']);
    }
    const transfer = bodyOf({
      eventName: 'CallHandler.CallTransferred',
      callId: 'call-1',
      payload: { transfer_to: '1' },
    });
    expect((await deliver(receiver, transfer)).json.status).toBe('accepted');
    await expect.poll(() => events.length).toBe(4);
  });

  test('a call that goes on has started, and is counted; one that is only registered has nothing', async () => {
    const { receiver, events } = await receiving();
    const { readers } = readersOf({
      going: { call_status: 'ongoing', call_end_time: null },
      coming: { call_status: 'registered' },
    });
    expect(await receiver.reconcile(readers)).toMatchObject({
      calls: 2,
      recorded: 1,
      notEnded: 2,
      failed: 0,
    });
    await expect.poll(() => events).toMatchObject([{ eventName: startedName, callId: 'going' }]);
  });

  test('an analysis that is not ready is recorded when it is', async () => {
    const { receiver } = await receiving();
    const early = await receiver.reconcile(readersOf({ 'call-1': endedCall }, notReady).readers);
    expect(early).toMatchObject({ recorded: 2, notAnalysed: 1, failed: 0 });
    const later = await receiver.reconcile(readersOf({ 'call-1': endedCall }).readers);
    expect(later).toMatchObject({ recorded: 1, alreadyThere: 2, notAnalysed: 0 });
  });

  test('goes on when a call can not be read, and says which and why', async () => {
    const { receiver, logs } = await receiving();
    const down = new Error('the platform is down');
    const { readers } = readersOf({
      'call-1': down,
      'call-2': endedCall,
      'call-3': { ...endedCall, ai_agent_id: null },
    });
    const found = await receiver.reconcile(readers);
    expect(found).toMatchObject({ calls: 3, recorded: 5, failed: 2 });
    expect(found.failures[0]).toEqual({ callId: 'call-1', error: down });
    expect(found.failures[1]).toMatchObject({ callId: 'call-3', error: { code: 'agent_unknown' } });
    expect(logs.of('call_not_reconciled')).toMatchObject([
      { callId: 'call-1', cause: 'Error' },
      { callId: 'call-3', cause: 'agent_unknown' },
    ]);
    expect(logs.of('calls_reconciled')).toMatchObject([{ calls: 3, recorded: 5, failed: 2 }]);
    const ids = () => [{ callId: 'call-3', agentId: 'agent_3' }];
    expect(await receiver.reconcile({ ...readers, ids })).toMatchObject({ recorded: 1, alreadyThere: 2 });
  });

  test('a call that ended before everything that is kept is left alone: it may have been handled and removed', async () => {
    const { receiver } = await receiving();
    const old = { ...endedCall, call_end_time: before(40 * 86_400_000) };
    expect(await receiver.reconcile(readersOf({ old }).readers)).toMatchObject({ recorded: 0, tooOld: 1 });
  });

  test('nothing is rebuilt of a call that was erased', async () => {
    const { receiver } = await receiving();
    await receiver.erase({ callId: 'call-1' });
    const found = await receiver.reconcile(readersOf({ 'call-1': endedCall }).readers);
    expect(found).toMatchObject({ recorded: 0, alreadyThere: 3 });
    expect(await receiver.calls.get('call-1')).toBeUndefined();
  });

  test('an id of any length has its own event', async () => {
    const { receiver } = await receiving();
    const longs = ['a', 'b'].map((end) => 'x'.repeat(511) + end);
    const { readers } = readersOf(Object.fromEntries(longs.map((callId) => [callId, endedCall])));
    expect(await receiver.reconcile(readers)).toMatchObject({ recorded: 6 });
    expect(await receiver.reconcile(readers)).toMatchObject({ recorded: 0, alreadyThere: 6 });
  });

  test('reads four calls at once, and asks for no further ids before there is room', async () => {
    const { receiver } = await receiving();
    const gate = new Gate();
    const active = { now: 0, most: 0, given: 0 };
    const found = receiver.reconcile({
      ...readersOf({}).readers,
      calls: {
        async get() {
          active.most = Math.max(active.most, (active.now += 1));
          await gate.pass();
          active.now -= 1;
          return endedCall;
        },
      },
      async *ids() {
        for (; active.given < 10; active.given += 1) yield `call-${active.given}`;
      },
    });
    await expect.poll(() => active.now).toBe(4);
    expect(active.given).toBe(3);
    gate.open();
    expect(await found).toMatchObject({ calls: 10, recorded: 30 });
    expect(active.most).toBe(4);
  });

  test('gives `ids` the time, and ends with what it throws', async () => {
    const { receiver } = await receiving();
    const asked: Date[] = [];
    const broken = async function* (since: Date) {
      asked.push(since);
      yield 'call-1';
      throw new Error('no more pages');
    };
    const { readers } = readersOf({ 'call-1': endedCall });
    await expect(receiver.reconcile({ ...readers, ids: broken })).rejects.toThrow('no more pages');
    await expect(
      receiver.reconcile({ ...readers, ids: broken, since: new Date(start - 5) }),
    ).rejects.toThrow();
    expect(asked).toEqual([new Date(start - 3_600_000), new Date(start - 5)]);
  });

  test('a signal ends it, also while nothing comes from `ids`', async () => {
    const { receiver } = await receiving();
    const { readers } = readersOf({});
    const ending = new AbortController();
    const reason = new Error('enough');
    const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    const ended = receiver.reconcile({ ...readers, ids: () => never, signal: ending.signal });
    ending.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test('a stop ends it, and it is refused before the start', async () => {
    const { receiver, clock } = await receiving();
    const { readers } = readersOf({});
    const reading = Promise.withResolvers<void>();
    const calls: ReconcileOptions['calls'] = {
      get: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          reading.resolve();
        }),
    };
    const ended = receiver.reconcile({ ...readers, calls, ids: () => ['call-1'] });
    const refused = expect(ended).rejects.toMatchObject({ code: 'receiver_not_started' });
    await reading.promise;
    await clock.runUntil(receiver.stop({ drain: 0 }));
    await refused;
    await expect(receiver.reconcile(readers)).rejects.toMatchObject({ code: 'receiver_not_started' });
  });

  test.each([
    [
      'calls',
      { calls: {} },
      'calls in reconcile should be an object with the method get, such as platform.calls',
    ],
    ['ids', { ids: ['call-1'] }, 'ids in reconcile should be a function that returns the ids of calls'],
    ['an id', { ids: () => [7, null] }, 'ids in reconcile should be a function that returns ids of calls'],
    [
      'since',
      { since: undefined },
      "since in reconcile should be a Date, or a duration such as '15m' or '2h'",
    ],
    [
      'a number',
      { since: 60_000 },
      "since in reconcile should be a Date, or a duration such as '15m' or '2h'",
    ],
    [
      'a time before all',
      { since: '31d' },
      'since in reconcile should be no longer ago than retention.done, which is 30 days',
    ],
    ['another option', { list: () => [] }, 'There is no option list in reconcile'],
  ])('refuses a wrong option: %s', async (_, wrong, sentence) => {
    const { receiver } = await receiving();
    const refused = receiver.reconcile({ ...readersOf({}).readers, ...(wrong as object) });
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(sentence);
  });
});
