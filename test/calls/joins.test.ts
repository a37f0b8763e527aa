import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { Discard, type JoinedCall, type JoinOptions } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { type CallEventParts, deliverEvent, names, settled } from './call-events.ts';

const terms = {
  name: 'save-order',
  events: [names.ended, names.analysed],
  within: '2m',
} as const satisfies JoinOptions;
const within = 120_000;
const call = { callId: 'call-1' };

/** The part of a call that the tests look at. */
const seenOf = ({ callId, complete, missing }: JoinedCall) => ({ callId, complete, missing });
const complete = { callId: 'call-1', complete: true, missing: [] };
const withoutAnalysis = { callId: 'call-1', complete: false, missing: [names.analysed] };

describe('a join', () => {
  test(
    'fires once for each call when everything is there, in whatever order and however often it comes',
    { tags: 'long' },
    async () => {
      const kinds = ['started', 'ended', 'analysed'] as const;
      const seen: JoinedCall[] = [];
      const events = kinds.map((kind) => names[kind]);
      const { receiver, logs } = await started({}, (r) =>
        r.onCall({ ...terms, events }, (joined) => void seen.push(joined)),
      );
      let calls = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.shuffledSubarray([...kinds, ...kinds, ...kinds], { minLength: 9 }),
          async (order) => {
            calls += 1;
            const callId = `call-${calls}`;
            for (const name of order)
              await deliverEvent(receiver, { name, callId, traceId: `${callId}-${name}` });
            await logs.until('run_done', calls);
            for (const name of kinds) await settled(receiver, `${callId}-${name}`);
            expect(seen.map(seenOf).filter((joined) => joined.callId === callId)).toEqual([
              { callId, complete: true, missing: [] },
            ]);
          },
        ),
        { numRuns: 40 },
      );
      expect(seen).toHaveLength(calls);
      expect((await receiver.counts()).runs).toEqual({ due: 0, running: 0, blocked: 0, dead: 0 });
    },
  );

  test('gets the call as it has become', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.onCall(terms, async (joined, context) => {
        const { complete: isComplete, missing, ...record } = joined;
        expect(await context.call()).toEqual(record);
        expect({ isComplete, missing, attempt: context.attempt }).toEqual({
          isComplete: true,
          missing: [],
          attempt: 1,
        });
        expect(record.analysis?.status).toBe('completed');
      }),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await logs.until('run_done');
    expect(logs.of('run_retry')).toEqual([]);
  });

  test('fires when the time after the first event is over, and says what is missing', async () => {
    const clock = new ManualClock();
    const seen: unknown[] = [];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.onCall(terms, (joined) => void seen.push(seenOf(joined))),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(within / 2);
    // Another event with the same name doesn't complete the join, and doesn't make it wait longer.
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-2' });
    await settled(receiver, 't-2');
    clock.advance(within / 2 - 1);
    expect(seen).toEqual([]);
    clock.advance(1);
    await logs.until('run_done');
    expect(seen).toEqual([withoutAnalysis]);
  });

  test('runs again, once, for what comes late', async () => {
    const clock = new ManualClock();
    const seen: unknown[] = [];
    const events = [names.ended, names.analysed, names.transferred];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.onCall({ ...terms, events }, (joined) => void seen.push(joined.missing)),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(within);
    await logs.until('run_done');
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await logs.until('run_done', 2);
    for (const [name, traceId] of [
      ['analysed', 't-2'],
      ['analysed', 't-3'],
      ['transferred', 't-4'],
    ] as const) {
      await deliverEvent(receiver, { ...call, name, traceId });
      await settled(receiver, traceId);
    }
    expect(seen).toEqual([[names.analysed, names.transferred], [names.transferred]]);
    expect((await receiver.counts()).runs).toMatchObject({ due: 0, running: 0 });
  });

  test.each([Number.MAX_SAFE_INTEGER, Number.MAX_VALUE])(
    'waits although its time is beyond all calendars (%d), and says until when',
    async (forEver) => {
      const seen: JoinedCall[] = [];
      const { receiver, logs } = await started({}, (r) =>
        r.onCall({ ...terms, within: forEver }, (joined) => void seen.push(joined)),
      );
      await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
      const waitsUntil = async () => (await receiver.calls.joins(call.callId))[0]?.until?.getTime();
      await expect.poll(waitsUntil).toBeGreaterThan(Date.now());
      await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
      await logs.until('run_done');
      expect(seen.map(seenOf)).toEqual([complete]);
      expect(logs.of('dispatch_failed')).toEqual([]);
    },
  );

  test("does not run again with late: 'ignore'", async () => {
    const clock = new ManualClock();
    const seen: unknown[] = [];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.onCall({ ...terms, late: 'ignore' }, (joined) => void seen.push(seenOf(joined))),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(within);
    await logs.until('run_done');
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await settled(receiver, 't-2');
    expect(seen).toEqual([withoutAnalysis]);
    expect((await receiver.counts()).runs.due).toBe(0);
  });

  test('runs again for what comes while it runs', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const seen: unknown[] = [];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.onCall(terms, async (joined) => {
        seen.push(seenOf(joined));
        if (!joined.complete) await gate.pass();
      }),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(within);
    await gate.reached;
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await expect.poll(async () => (await receiver.events.get('t-2'))?.state).not.toBe('new');
    expect(seen).toEqual([withoutAnalysis]);
    gate.open();
    await logs.until('run_done', 2);
    expect(seen).toEqual([withoutAnalysis, complete]);
  });

  test('does not run again for what its second attempt has seen', async () => {
    const clock = new ManualClock();
    const seen: unknown[] = [];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.onCall(terms, (joined) => {
        seen.push(seenOf(joined));
        if (!joined.complete) throw new Error('not without the analysis');
      }),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(within);
    await logs.until('run_retry');
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await settled(receiver, 't-2');
    await clock.timer(500);
    clock.advance(500);
    await settled(receiver, 't-1');
    expect(seen).toEqual([withoutAnalysis, complete]);
  });

  test('runs again for what comes after its second attempt, although that has seen another late event', async () => {
    const clock = new ManualClock();
    const seen: unknown[] = [];
    const events = [names.ended, names.analysed, names.transferred];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.onCall({ ...terms, events }, ({ missing }) => {
        seen.push(missing);
        if (missing.length === 2) throw new Error('not without the analysis');
      }),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(within);
    clock.advance(within);
    await logs.until('run_retry');
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await settled(receiver, 't-2');
    await clock.timer(500);
    clock.advance(500);
    await settled(receiver, 't-1');
    await deliverEvent(receiver, { ...call, name: 'transferred', traceId: 't-3' });
    await expect.poll(() => seen).toEqual([[names.analysed, names.transferred], [names.transferred], []]);
  });

  test('is a handler like any other: tried again, a dead letter at last, and its siblings do not notice', async () => {
    const { receiver, logs } = await started({ retry: { attempts: 2, base: 0 } }, (r) =>
      r
        .onCall(terms, () => {
          throw new Error('not today');
        })
        .onCall({ ...terms, name: 'other' }, () => {})
        .onCall({ ...terms, name: 'discarding' }, () => {
          throw new Discard('not this call');
        })
        .on('*', { name: 'ordinary' }, () => {}),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await logs.until('run_dead', 2);
    await logs.until('run_done', 3);
    expect(logs.of('run_retry')).toMatchObject([{ handler: 'save-order', callId: 'call-1' }]);
    const { events } = await receiver.events.list({ state: 'dead' });
    const dead = events.flatMap(({ runs }) => runs).filter(({ state }) => state === 'dead');
    expect(dead.map(({ handler, reason, attempts }) => [handler, reason, attempts])).toEqual(
      expect.arrayContaining([
        ['save-order', 'not today', 2],
        ['discarding', 'not this call', 1],
      ]),
    );
  });

  test('ends at its deadline', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock }, (r) =>
      r.onCall({ ...terms, timeout: '3s', retry: { attempts: 1 } }, () => new Promise(() => {})),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await clock.timer(3_000);
    clock.advance(3_000);
    expect(await logs.until('run_dead')).toMatchObject([{ cause: 'deadline' }]);
  });

  test.skipIf(isOnPostgres)(
    'writes its effects with its "done" mark: what fails afterwards does not run it again',
    async () => {
      const { receiver, logs } = await started({}, (r) => {
        r.database.exec('create table orders (call_id text)');
        r.onCall(terms, async (joined, { commit }) => {
          await commit((db) => void db.prepare('insert into orders values (?)').run(joined.callId));
          throw new Error('after the commit');
        });
      });
      await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
      await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
      await logs.until('run_done');
      await settled(receiver, 't-1');
      await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-3' });
      await settled(receiver, 't-3');
      expect(receiver.database.prepare('select * from orders').all()).toEqual([{ call_id: 'call-1' }]);
    },
  );

  test('counts an event whose payload misses what its name promises; that one goes to the fallback as well', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r
        .onCall(
          { ...terms, events: [names.ended, names.transferred] },
          (joined) => void seen.push(joined.missing),
        )
        .on(names.transferred, { name: 'typed' }, () => void seen.push('typed'))
        .fallback((event) => void seen.push(event.issues.map(({ path }) => path))),
    );
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-1' });
    await deliverEvent(receiver, {
      ...call,
      name: 'transferred',
      traceId: 't-2',
      payload: { transfer_to: null },
    });
    await logs.until('run_done', 2);
    expect(seen).toHaveLength(2);
    expect(seen).toEqual(expect.arrayContaining([[], ['payload.transfer_to']]));
  });

  test('waits for each call on its own', async () => {
    const seen: string[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.onCall(terms, (joined) => void seen.push(joined.callId)),
    );
    const events: CallEventParts[] = ['one', 'two', 'three'].flatMap((callId) => [
      { callId, name: 'ended', traceId: `${callId}-1` },
      { callId, name: 'analysed', traceId: `${callId}-2` },
    ]);
    for (const event of events.toSpliced(1, 1)) await deliverEvent(receiver, event);
    await logs.until('run_done', 2);
    expect(seen.sort()).toEqual(['three', 'two']);
  });
});

describe('registering a join', () => {
  test.each<[string, unknown, string]>([
    ['a pattern', { ...terms, events: ['CallHandler.*'] }, 'patterns are not possible'],
    ['everything', { ...terms, events: ['*'] }, 'patterns are not possible'],
    ['no events', { ...terms, events: [] }, 'at least one name'],
    ['one name instead of a list', { ...terms, events: names.ended }, 'a list of names'],
    ['no name', { events: terms.events, within: '2m' }, 'name'],
    ['an empty name', { ...terms, name: '' }, 'not empty'],
    ['no time', { name: 'save-order', events: terms.events }, 'within'],
    ['a time that is none', { ...terms, within: 'soon' }, "'90s'"],
    ['another way of being late', { ...terms, late: 'sometimes' }, "'run-again' or 'ignore'"],
    ['an order of its own', { ...terms, order: 'none' }, 'order'],
    ['an option misspelled', { ...terms, witihn: '2m' }, 'within'],
  ])('refuses %s, and says what it expects', (_, options, expected) => {
    const { receiver } = made();
    expect(() => receiver.onCall(options as never, () => {})).toThrow(expected);
  });

  test('refuses a second handler of its name, no function, and a late one', async () => {
    const { receiver } = made();
    receiver.on('*', { name: 'save-order' }, () => {});
    expect(() => receiver.onCall(terms, () => {})).toThrow('already registered');
    expect(() => receiver.onCall(terms, undefined as never)).toThrow(
      'onCall(options, handler) expects the options of a join and a function, but found no function',
    );
    await receiver.start();
    expect(() => receiver.onCall({ ...terms, name: 'late' }, () => {})).toThrow('before start()');
  });
});
