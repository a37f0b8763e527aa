import { describe, expect, test } from 'vitest';
import { bodyOf } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { ConfigError } from '../support/public.ts';
import {
  analysedName,
  deliver,
  endedCall,
  endedName,
  notReady,
  readersOf,
  receiving,
  start,
  startedName,
} from './reconcile-support.ts';

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
      timeUnknown: 0,
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

  test('a late delivery is answered as a duplicate, and no handler gets it', { tags: 'long' }, async () => {
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

  test('an ongoing call gets its start and is counted; a registered one gets nothing', async () => {
    const { receiver, events } = await receiving();
    const { readers } = readersOf({
      going: { call_status: 'ongoing', call_start_time: endedCall.call_start_time, call_end_time: null },
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

  test('continues when a call cannot be read, and says which and why', async () => {
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

  test.each([
    [
      'calls',
      { calls: {} },
      'calls in reconcile should be an object with the method get, such as platform.calls',
    ],
    ['ids', { ids: ['call-1'] }, 'ids in reconcile should be a function that returns the ids of calls'],
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
      'since in reconcile should be within the time for which retention keeps events, which is 30 days',
    ],
    [
      'a time to come',
      { since: new Date(start + 1) },
      `since in reconcile should be in the past: it is ${new Date(start).toISOString()}`,
    ],
    ['another option', { list: () => [] }, 'There is no option list in reconcile'],
  ])('refuses a wrong option: %s', async (_, wrong, sentence) => {
    const { receiver } = await receiving();
    const refused = receiver.reconcile({ ...readersOf({}).readers, ...(wrong as object) });
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(sentence);
  });

  test('refuses a time from which dead letters were removed', async () => {
    const { receiver } = await receiving({ retention: { dead: '30m' } });
    await expect(receiver.reconcile(readersOf({}).readers)).rejects.toThrow(
      'since in reconcile should be within the time for which retention keeps events, which is 30 min',
    );
  });

  test.each<unknown>(['call-1', undefined, {}, 7])('refuses what is no list of ids: %j', async (returned) => {
    const { receiver } = await receiving();
    const refused = receiver.reconcile({ ...readersOf({}).readers, ids: () => returned as string[] });
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(
      'The option ids in reconcile should be a function that returns a list, or an async iterable, of the ids of calls, but is ' +
        'a function whose result is ',
    );
  });
});
