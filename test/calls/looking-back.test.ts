import { describe, expect, test } from 'vitest';
import { storePause } from '../../src/store/timeouts.ts';
import { ManualClock } from '../support/clock.ts';
import { concurrently } from '../support/concurrently.ts';
import { bodyOf, deliver, otherSecret, secret } from '../support/deliveries.ts';
import { isOnPostgres } from '../support/inbox.ts';
import type { JoinOptions, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { deliverEvent, names, settled } from './call-events.ts';

const terms = {
  name: 'save-order',
  events: [names.ended, names.analysed],
  within: '2m',
} as const satisfies JoinOptions;
const call = { callId: 'call-1' };

/** Registers a join that adds what it sees to a list. */
function joining(seen: unknown[], options: JoinOptions = terms) {
  return (receiver: Receiver) =>
    receiver.onCall(options, ({ callId, complete }) => void seen.push([callId, complete]));
}

test('a look back that fails is made again', async () => {
  const clock = new ManualClock();
  const database = temporaryDatabase();
  const before = await started({ clock, database }, (r) => r.on('*', () => {}));
  await deliverEvent(before.receiver, { ...call, name: 'ended', traceId: 't-1' });
  await deliverEvent(before.receiver, { ...call, name: 'analysed', traceId: 't-2' });
  await before.logs.until('run_done', 2);
  await before.receiver.stop();

  let looks = 0;
  const store = storeAround(database, clock, (method, work) =>
    method === 'calls.lookBack'
      ? async (...given) => {
          looks += 1;
          if (looks === 1) throw new Error('the connection was lost');
          return work(...given);
        }
      : undefined,
  );
  const seen: unknown[] = [];
  const { logs } = await started({ clock, database: store }, joining(seen));
  await logs.until('dispatch_failed');
  await clock.timer(storePause);
  clock.advance(storePause);
  await logs.until('run_done');
  expect(seen).toEqual([['call-1', true]]);
});

describe('a restart', () => {
  test("neither loses nor repeats a join's time", async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const seen: unknown[] = [];
    const first = await started({ clock, database }, joining(seen));
    await deliverEvent(first.receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(120_000);
    await first.receiver.stop();
    clock.advance(60_000);

    const second = await started({ clock, database }, joining(seen));
    await clock.timer(60_000);
    clock.advance(59_999);
    expect(seen).toEqual([]);
    clock.advance(1);
    await second.logs.until('run_done');
    expect(seen).toEqual([['call-1', false]]);
    await second.receiver.stop();

    const third = await started({ clock, database }, joining(seen));
    await deliverEvent(third.receiver, { ...call, name: 'ended', traceId: 't-2' });
    await settled(third.receiver, 't-2');
    await third.receiver.stop();
    clock.advance(1_000);

    // A look back no longer reaches the event that opened the join, but it does reach a later event of the call.
    const fourth = await started({ clock, database }, joining(seen));
    await deliverEvent(fourth.receiver, { name: 'started', callId: 'call-2', traceId: 't-3' });
    await settled(fourth.receiver, 't-3');
    expect(await fourth.receiver.counts()).toMatchObject({
      events: { new: 0, open: 0, done: 3 },
      runs: { due: 0, running: 0 },
    });
    expect(seen).toHaveLength(1);
  });

  test('after the time was over fires at once', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const seen: unknown[] = [];
    const first = await started({ clock, database }, joining(seen));
    await deliverEvent(first.receiver, { ...call, name: 'ended', traceId: 't-1' });
    await clock.timer(120_000);
    await first.receiver.stop();
    clock.advance(3_600_000);
    const { logs } = await started({ clock, database }, joining(seen));
    await logs.until('run_done');
    expect(seen).toEqual([['call-1', false]]);
  });
});

describe('a join that was not registered before', () => {
  test('counts what has come already, as far back as it would have waited', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const before = await started({ clock, database });
    await deliverEvent(before.receiver, { name: 'ended', callId: 'too-old', traceId: 't-0' });
    clock.advance(60_000);
    await deliverEvent(before.receiver, { name: 'ended', callId: 'waiting', traceId: 't-1' });
    await deliverEvent(before.receiver, { name: 'analysed', callId: 'complete', traceId: 't-2' });
    clock.advance(60_001);
    await deliverEvent(before.receiver, { name: 'ended', callId: 'complete', traceId: 't-3' });
    for (const traceId of ['t-0', 't-1', 't-2', 't-3']) await settled(before.receiver, traceId);
    await before.receiver.stop();

    const seen: unknown[] = [];
    const { logs } = await started({ clock, database }, joining(seen));
    await logs.until('run_done');
    expect(seen).toEqual([['complete', true]]);
    await clock.timer(59_999);
    clock.advance(59_999);
    await logs.until('run_done', 2);
    expect(seen).toEqual([
      ['complete', true],
      ['waiting', false],
    ]);
  });

  test('counts an event from before together with one from now', async () => {
    const database = temporaryDatabase();
    const before = await started({ database });
    await deliverEvent(before.receiver, { ...call, name: 'ended', traceId: 't-1' });
    await settled(before.receiver, 't-1');
    await before.receiver.stop();
    const seen: unknown[] = [];
    const { receiver, logs } = await started({ database }, joining(seen));
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    await logs.until('run_done');
    expect(seen).toEqual([['call-1', true]]);
  });

  test.skipIf(isOnPostgres)('misses none of many, and deliveries are accepted during it', async () => {
    const [database, clock] = [temporaryDatabase(), new ManualClock()];
    const before = await started({ database, clock });
    const many = Array.from({ length: 1_200 }, (_, index) => `call-${index}`);
    await concurrently(many, 50, (callId) =>
      deliverEvent(before.receiver, { callId, name: 'ended', traceId: callId }),
    );
    await before.receiver.stop();
    const seen: unknown[] = [];
    const join = joining(seen, { ...terms, events: [names.ended], within: '1d' });
    const { receiver, logs } = await started({ database, clock }, join);
    await deliverEvent(receiver, { callId: 'now', name: 'ended', traceId: 'now' });
    await logs.until('run_done', many.length + 1);
    expect(new Set(seen.map(String))).toEqual(new Set([...many, 'now'].map((callId) => `${callId},true`)));
  });
});

describe('events that come out of quarantine', () => {
  test('long after they came are waited for all the same: the join fires once, with all of them', async () => {
    const clock = new ManualClock();
    const seen: unknown[] = [];
    let known: string = otherSecret;
    const { receiver, logs } = await started({ clock, secrets: () => known }, joining(seen));
    for (const [index, eventName] of [names.ended, names.analysed].entries()) {
      const body = bodyOf({ ...call, eventName, traceId: `t-${index}` });
      expect((await deliver(receiver, body)).status).toBe(401);
    }
    clock.advance(3_600_000);
    known = secret;
    const { deliveries } = await receiver.quarantine.list();
    const [last, first] = deliveries.map(({ id }) => id);
    await receiver.quarantine.release(Number(first));
    await clock.timer(10_000);
    expect(seen).toEqual([]);
    await receiver.quarantine.release(Number(last));
    await logs.until('run_done');
    expect(seen).toEqual([['call-1', true]]);
    expect((await receiver.counts()).runs.due).toBe(0);
  });
});

/** Leaves a join that waits for the analysis of a call. */
async function waiting(database: string, seen: unknown[]): Promise<void> {
  const { receiver } = await started({ database }, joining(seen));
  await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-ended' });
  await expect.poll(() => receiver.counts()).toMatchObject({ runs: { due: 1 } });
  await receiver.stop();
}

describe('an event that came while the join was not registered', () => {
  const others = (receiver: Receiver) => receiver.on('*', { name: 'other' }, () => {});
  const analysed = async (database: string) => {
    const { receiver } = await started({ database }, others);
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-analysed' });
    await settled(receiver, 't-analysed');
    await receiver.stop();
  };

  test('completes a join that waits', async () => {
    const database = temporaryDatabase();
    const seen: unknown[] = [];
    await waiting(database, seen);
    await analysed(database);
    await started({ database }, joining(seen));
    await expect.poll(() => seen).toEqual([['call-1', true]]);
  });

  test('is late for a join that was called without it, which runs again, once', async () => {
    const database = temporaryDatabase();
    const seen: unknown[] = [];
    const soon = { ...terms, within: 1 };
    const { receiver, logs } = await started({ database }, joining(seen, soon));
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-ended' });
    await logs.until('run_done');
    await receiver.stop();
    await analysed(database);
    for (let starts = 0; starts < 2; starts += 1) {
      const again = await started({ database }, joining(seen));
      await expect.poll(() => seen).toHaveLength(2);
      await again.receiver.stop();
    }
    expect(seen).toEqual([
      ['call-1', false],
      ['call-1', true],
    ]);
  });
});

describe('a join that waits when its app is started with other options for it', () => {
  test('is called at once if it waits for nothing any more', async () => {
    const database = temporaryDatabase();
    const seen: unknown[] = [];
    await waiting(database, seen);
    await started({ database }, joining(seen, { ...terms, events: [names.ended] }));
    await expect.poll(() => seen).toEqual([['call-1', true]]);
  });
});

describe('two processes', () => {
  test('that share the file fire a join once, whichever of them an event comes to', async () => {
    const database = temporaryDatabase();
    const seen: unknown[] = [];
    const one = await started({ database }, joining(seen));
    const other = await started({ database }, joining(seen));
    const calls = Array.from({ length: 20 }, (_, index) => `call-${index}`);
    await Promise.all(
      calls.flatMap((callId) => [
        deliverEvent(one.receiver, { callId, name: 'ended', traceId: `${callId}-1` }),
        deliverEvent(other.receiver, { callId, name: 'analysed', traceId: `${callId}-2` }),
        deliverEvent(one.receiver, { callId, name: 'analysed', traceId: `${callId}-2` }),
      ]),
    );
    for (const callId of calls) {
      await settled(one.receiver, `${callId}-1`);
      await settled(other.receiver, `${callId}-2`);
    }
    expect(seen.map(String).sort()).toEqual(calls.map((callId) => `${callId},true`).sort());
  });

  test('of which one did not know the join do not make it miss an event', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const old = await started({ clock, database });
    await deliverEvent(old.receiver, { ...call, name: 'ended', traceId: 't-1' });
    await settled(old.receiver, 't-1');
    const seen: unknown[] = [];
    const { receiver, logs } = await started({ clock, database }, joining(seen));
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-2' });
    clock.advance(2_000);
    const done = logs.until('run_done');
    // The writer threads of the two receivers may write at the same time; then one waits for the other. Time passes slowly,
    // since that wait doesn't depend on the clock.
    await clock.runUntil(done, 1);
    expect(await done).toHaveLength(1);
    expect(seen).toEqual([['call-1', true]]);
  });
});
