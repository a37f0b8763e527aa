import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Discard, type Order, type Receiver, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';

function deliverAt(receiver: Receiver, clock: ManualClock, traceId: string, callId = 'call-1') {
  const body = bodyOf({ traceId, callId });
  return deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
}

test.each<Order>(['call', 'strict'])(
  "order '%s': replayed runs of a call are one at a time and in order of arrival",
  async (order) => {
    const seen: string[] = [];
    let active = 0;
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { name: 'ordered', order }, async ({ traceId, callId }) => {
        if (callId === 'call-1') expect((active += 1)).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(traceId);
        if (callId === 'call-1') active -= 1;
      }),
    );
    for (const traceId of ['first', 'second', 'third'])
      await deliver(receiver, bodyOf({ traceId, callId: 'call-1' }));
    await deliver(receiver, bodyOf({ traceId: 'another', callId: 'call-2' }));
    await logs.until('run_done', 4);
    await receiver.events.replay({ since: 0 });
    await logs.until('run_done', 8);
    expect(logs.of('run_retry')).toEqual([]);
    expect(seen.slice(4).filter((traceId) => traceId !== 'another')).toEqual(['first', 'second', 'third']);
  },
);

describe("order 'strict'", () => {
  test('blocks later replayed events until the earlier one is done', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    let failures = 1;
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { name: 'ordered', order: 'strict' }, ({ traceId }, { attempt, replay }) => {
        seen.push(`${traceId} ${attempt}`);
        if (replay && traceId === 'first' && (failures -= 1) >= 0) throw new Error('not yet');
      }),
    );
    await deliverAt(receiver, clock, 'first');
    await deliverAt(receiver, clock, 'second');
    await logs.until('run_done', 2);
    await receiver.events.replay({ since: 0 });
    await logs.until('run_retry');
    // An event that arrives meanwhile waits as well.
    await deliverAt(receiver, clock, 'third');
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done', 5);
    expect(seen.slice(2)).toEqual(['first 1', 'first 2', 'second 1', 'third 1']);
  });

  test('a replayed event waits for a later one of its call that waits to be tried again', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { name: 'ordered', order: 'strict' }, ({ traceId }, { attempt }) => {
        seen.push(`${traceId} ${attempt}`);
        if (traceId === 'second' && attempt === 1) throw new Error('not yet');
      }),
    );
    await deliverAt(receiver, clock, 'first');
    await logs.until('run_done');
    await deliverAt(receiver, clock, 'second');
    await logs.until('run_retry');
    expect(await receiver.events.replay({ since: 0 })).toMatchObject({ events: 1, runs: 1 });
    expect((await receiver.events.get('first'))?.runs).toMatchObject([{ state: 'blocked' }]);
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done', 3);
    expect(seen).toEqual(['first 1', 'second 1', 'second 2', 'first 1']);
  });

  test('a later event that fails while an earlier one is replayed waits for it', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const seen: string[] = [];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.on('*', { name: 'ordered', order: 'strict' }, async ({ traceId }, { attempt, replay }) => {
        seen.push(`${traceId} ${attempt}`);
        if (traceId === 'second' && attempt === 1) {
          await gate.pass();
          throw new RetryLater(1_000, 'the CRM is busy');
        }
        if (replay && attempt === 1) throw new RetryLater(500);
      }),
    );
    await deliverAt(receiver, clock, 'first');
    await logs.until('run_done');
    await deliverAt(receiver, clock, 'second');
    await gate.reached;
    expect(await receiver.events.replay({ since: 0 })).toMatchObject({ events: 1, runs: 1 });
    gate.open();
    await logs.until('run_retry', 2);
    // It waits as one that has failed, with its reason and in the group of its failure.
    expect(await receiver.events.get('second')).toMatchObject({
      runs: [{ state: 'blocked', attempts: 1, reason: 'the CRM is busy' }],
    });
    const groups = await receiver.failures.list();
    expect(groups.find(({ message }) => message === 'the CRM is busy')).toMatchObject({ retrying: 1 });
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done', 2);
    // And not before the time that it has asked for.
    await clock.timer(500);
    expect(seen).toEqual(['first 1', 'second 1', 'first 1', 'first 2']);
    clock.advance(500);
    await logs.until('run_done', 3);
    expect(seen.at(-1)).toBe('second 2');
  });

  test('a replayed event and a later one, which is paused while it waits for a slot, do not wait for each other', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const seen: string[] = [];
    const { receiver, logs } = await started({ clock }, (r) =>
      r.on(
        '*',
        { name: 'ordered', order: 'strict', concurrency: 1 },
        async ({ traceId }, { attempt, replay }) => {
          seen.push(`${traceId} ${attempt}`);
          if (traceId === 'first' && !replay) throw new Discard('no such customer');
          if (traceId === 'second' && attempt === 1) throw new RetryLater(1_000);
          if (traceId === 'another') await gate.pass();
        },
      ),
    );
    const stateOf = async (traceId: string) => (await receiver.events.get(traceId))?.runs[0]?.state;
    await deliverAt(receiver, clock, 'first');
    await deliverAt(receiver, clock, 'second');
    await logs.until('run_retry');
    await deliverAt(receiver, clock, 'another', 'call-2');
    await gate.reached;
    await clock.timer(1_000);
    clock.advance(1_000);
    await expect.poll(() => stateOf('second')).toBe('running');
    await receiver.events.replay({ state: 'dead' });
    expect(await stateOf('first')).toBe('blocked');
    await receiver.handlers.pause('ordered');
    await receiver.handlers.resume('ordered');
    gate.open();
    await logs.until('run_done', 3);
    expect(seen).toEqual(['first 1', 'second 1', 'another 1', 'second 2', 'first 1']);
  });
});
