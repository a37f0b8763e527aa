/** What a reconciliation makes of what the platform says, which may be old, incomplete, contradicting or about another call. */
import { describe, expect, test } from 'vitest';
import { bodyOf } from '../support/deliveries.ts';
import {
  analysedName,
  before,
  deliver,
  endedCall,
  endedName,
  readersOf,
  receiving,
  start,
  startedName,
} from './reconcile-support.ts';

const day = 86_400_000;
const ongoingCall = { ...endedCall, call_status: 'ongoing', call_end_time: null };

/** What reconciling one call has found, with the names of the events that were recorded. */
async function foundOf(answer: unknown, analysis: unknown = {}) {
  const { receiver } = await receiving();
  const { readers, asked } = readersOf({ 'call-1': answer as never }, analysis);
  const found = await receiver.reconcile(readers);
  const { events } = await receiver.events.list({ callId: 'call-1' });
  return { found, asked, names: events.map(({ eventName }) => eventName).toSorted() };
}

describe('an event that may have been handled and removed', () => {
  test(
    'is not recorded again: the start of a call that lasts longer than retention',
    { tags: 'long' },
    async () => {
      const { receiver, clock, events } = await receiving({ retention: { done: '1h' } });
      await deliver(receiver, bodyOf({ eventName: startedName, callId: 'call-1' }));
      await expect.poll(() => events.length).toBe(1);
      await clock.runUntil(
        expect.poll(async () => (await receiver.calls.get('call-1')) === undefined).toBe(true),
      );
      const answer = { ...ongoingCall, call_start_time: new Date(start).toISOString() };
      const { readers } = readersOf({ 'call-1': answer });
      const found = await receiver.reconcile({ ...readers, since: '30m' });
      expect(found).toMatchObject({ recorded: 0, tooOld: 1, notEnded: 1, failed: 0 });
    },
  );

  test.each([
    ['of a call that goes on', { ...ongoingCall, call_start_time: before(31 * day) }, { tooOld: 1 }, []],
    [
      'of a call that ended just now',
      { ...endedCall, call_start_time: before(31 * day) },
      { tooOld: 1, recorded: 2 },
      [endedName, analysedName],
    ],
    [
      'of a call that is old',
      { ...endedCall, call_start_time: before(41 * day), call_end_time: before(40 * day) },
      { tooOld: 3 },
      [],
    ],
    [
      'to within the difference of two clocks',
      { ...endedCall, call_start_time: before(30 * day), call_end_time: before(30 * day - 59_000) },
      { tooOld: 3 },
      [],
    ],
    ['without any time', { call_status: 'ended', ai_agent_id: 'agent_1' }, { timeUnknown: 3, tooOld: 0 }, []],
    [
      'without an end time',
      { ...endedCall, call_end_time: null },
      { timeUnknown: 2, recorded: 1 },
      [startedName],
    ],
  ])('is judged by its own time: %s', async (_, answer, counts, recorded) => {
    const { found, asked, names } = await foundOf(answer);
    expect(found).toMatchObject({ recorded: 0, failed: 0, ...counts });
    expect(names).toEqual(recorded);
    expect(asked).toHaveLength(found.recorded === 2 ? 2 : 1);
  });
});

describe('an answer about another call', () => {
  test.each([
    ['_id', { ...endedCall, _id: 'call-2' }],
    ['call_id', { ...endedCall, call_id: 'call-2' }],
    ['one of both', { ...endedCall, _id: 'call-1', call_id: 'call-2' }],
  ])('is not recorded: %s', async (_, answer) => {
    const { found, names } = await foundOf(answer);
    expect(found).toMatchObject({ recorded: 0, failed: 1 });
    expect(found.failures[0]).toMatchObject({ callId: 'call-1', error: { code: 'call_differs' } });
    expect(String(found.failures[0]?.error)).toContain(
      'calls.get() should return the call call-1, but its answer is about the call call-2',
    );
    expect(names).toEqual([]);
  });

  test.each([{ call_id: 'call-2' }, { data: { call_id: 'call-2' } }])(
    'is not taken for its analysis: %j',
    async (analysis) => {
      const { found, names } = await foundOf(endedCall, analysis);
      expect(found).toMatchObject({ recorded: 2, failed: 1 });
      expect(found.failures[0]).toMatchObject({ error: { code: 'call_differs' } });
      expect(names).toEqual([endedName, startedName]);
    },
  );

  test('is none if the ids are the same, or none', async () => {
    const answer = { ...endedCall, _id: 'call-1', call_id: null };
    const { found } = await foundOf(answer, { call_id: 'call-1', data: { call_id: 'call-1' } });
    expect(found).toMatchObject({ recorded: 3, failed: 0 });
  });
});

describe('an answer that contradicts itself', () => {
  test.each([
    ['ongoing, with an end', { ...endedCall, call_status: 'ongoing' }, { notEnded: 1 }, [startedName]],
    ['registered, with times', { ...endedCall, call_status: 'registered' }, { notEnded: 1 }, []],
    ['ended by an error', { ...endedCall, call_status: 'error' }, {}, [endedName, startedName, analysedName]],
    [
      'no status, with an end',
      { ...endedCall, call_status: null },
      {},
      [endedName, startedName, analysedName],
    ],
    ['no status, without an end', { ...ongoingCall, call_status: null }, { notEnded: 1 }, [startedName]],
  ])('gives the events of which status and time agree: %s', async (_, answer, counts, recorded) => {
    const { found, names } = await foundOf(answer);
    expect(found).toMatchObject({ failed: 0, recorded: recorded.length, ...counts });
    expect(names).toEqual(recorded.toSorted());
  });

  test('a wrong end does not take the place of the genuine one', async () => {
    const { receiver } = await receiving();
    await receiver.reconcile(readersOf({ 'call-1': { ...endedCall, call_status: 'ongoing' } }).readers);
    const { json } = await deliver(receiver, bodyOf({ eventName: endedName, callId: 'call-1' }));
    expect(json.status).toBe('accepted');
  });

  test.each([0, -1, '0', '1970-01-01T00:00:00Z', 'soon', before(-60_001), {}, true])(
    '%j is no time',
    async (time) => {
      const { found, names } = await foundOf({ ...endedCall, call_end_time: time });
      expect(found).toMatchObject({ recorded: 1, timeUnknown: 2, failed: 0 });
      expect(names).toEqual([startedName]);
    },
  );

  test('a time that is ahead by a minute at most is one: clocks differ', async () => {
    const { found } = await foundOf({ ...endedCall, call_end_time: before(-60_000) });
    expect(found).toMatchObject({ recorded: 3 });
  });

  test.each([
    ['null', null, 'but the answer is null'],
    ['undefined', undefined, 'but the answer is undefined'],
    ['a list', [], 'but the answer is an empty list'],
    ['text', 'ended', 'but the answer is "ended"'],
    ['a status that is not known', { ...endedCall, call_status: 'paused' }, 'but it is "paused"'],
    ['a status of another type', { ...endedCall, call_status: 3 }, 'but it is 3'],
    ['the name of a method', { ...endedCall, call_status: 'constructor' }, 'but it is "constructor"'],
    ['nothing that is known', { data: endedCall }, 'but the answer has neither'],
  ])('is counted as failed if it can not be read: %s', async (_, answer, sentence) => {
    const { receiver } = await receiving();
    const { readers } = readersOf({});
    const calls = { get: async () => answer as never };
    const found = await receiver.reconcile({ ...readers, calls, ids: () => ['call-1'] });
    expect(found).toMatchObject({ calls: 1, recorded: 0, notEnded: 0, failed: 1 });
    expect(found.failures[0]).toMatchObject({ callId: 'call-1', error: { code: 'call_unreadable' } });
    const said = String(found.failures[0]?.error);
    expect(said).toContain('calls.get() should return');
    expect(said).toContain(sentence);
  });
});
