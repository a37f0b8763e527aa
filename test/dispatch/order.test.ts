import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Order, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';

const first = bodyOf({ traceId: 'first', callId: 'call-1', eventName: 'CallHandler.CallStarted' });
const second = bodyOf({ traceId: 'second', callId: 'call-1' });
const third = bodyOf({ traceId: 'third', callId: 'call-1', eventName: 'callAnalysis.pcaCompleted' });
const another = bodyOf({ traceId: 'another', callId: 'call-2' });

async function deliverAll(receiver: Receiver, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) await deliver(receiver, body);
}

describe("order 'call'", () => {
  test('runs the events of one call one at a time in order of arrival, and other calls beside', async () => {
    const gate = new Gate();
    const seen: string[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', async (event) => {
        seen.push(`begins ${event.traceId}`);
        if (event.traceId === 'first') await gate.pass();
        seen.push(`ends ${event.traceId}`);
      }),
    );
    await deliverAll(receiver, [first, second, third, another]);
    await logs.until('run_done', 1);
    expect(seen).toEqual(['begins first', 'begins another', 'ends another']);
    gate.open();
    await logs.until('run_done', 4);
    expect(seen.slice(3)).toEqual([
      'ends first',
      'begins second',
      'ends second',
      'begins third',
      'ends third',
    ]);
  });

  test('lets later runs go ahead while a failed one waits', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { order: 'call' }, (event, { attempt }) => {
        seen.push(`${event.traceId} ${attempt}`);
        if (event.traceId === 'first' && attempt === 1) throw new Error('not yet');
      }),
    );
    await deliverAll(receiver, [first, second, third]);
    await logs.until('run_done', 2);
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done', 3);
    expect(seen).toEqual(['first 1', 'second 1', 'third 1', 'first 2']);
  });
});

describe("order 'strict'", () => {
  test(
    'blocks the later events of a call until the failed one is done, and no other call',
    { tags: 'long' },
    async () => {
      const clock = new ManualClock();
      const seen: string[] = [];
      const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
        r.on('*', { order: 'strict' }, (event, { attempt }) => {
          seen.push(`${event.traceId} ${attempt}`);
          if (event.traceId === 'first' && attempt < 3) throw new Error('not yet');
        }),
      );
      await deliverAll(receiver, [first, second, third, another]);
      for (const [index, wait] of [500, 1_000].entries()) {
        await logs.until('run_retry', index + 1);
        await clock.timer(wait);
        clock.advance(wait);
      }
      await logs.until('run_done', 4);
      expect(seen.filter((run) => !run.startsWith('another'))).toEqual([
        'first 1',
        'first 2',
        'first 3',
        'second 1',
        'third 1',
      ]);
      expect(seen.indexOf('another 1')).toBeLessThan(seen.indexOf('first 2'));
    },
  );

  test('unblocks them when the failed one is dead', async () => {
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r.on('*', { order: 'strict' }, (event) => {
        if (event.traceId === 'first') throw new Error('never');
      }),
    );
    await deliverAll(receiver, [first, second]);
    await logs.until('run_dead');
    expect(await logs.until('run_done')).toMatchObject([{ traceId: 'second' }]);
  });

  test('blocks events that arrive while the failed one waits', { tags: 'long' }, async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { order: 'strict' }, (event, { attempt }) => {
        if (event.traceId === 'first' && attempt === 1) throw new Error('not yet');
      }),
    );
    await deliver(receiver, first);
    await logs.until('run_retry');
    await deliverAll(receiver, [second, another]);
    await logs.until('run_done');
    await clock.timer(500);
    clock.advance(500);
    const done = await logs.until('run_done', 3);
    expect(done.map(({ traceId }) => traceId)).toEqual(['another', 'first', 'second']);
  });
});

test.each<[Order, number]>([
  ['none', 3],
  ['call', 1],
  ['strict', 1],
])('order %s: %i runs of one call are active at once', async (order, expected) => {
  const gate = new Gate();
  let active = 0;
  const { receiver, logs } = await started({}, (r) =>
    r
      .on('*', { name: 'ordered', order }, async () => {
        active += 1;
        await gate.pass();
      })
      // When this handler has seen all three events, every run that may begin has begun.
      .on('*', { name: 'seeing', order: 'none' }, () => {}),
  );
  await deliverAll(receiver, [first, second, third]);
  await logs.until('run_done', 3);
  expect(active).toBe(expected);
  gate.open();
  await logs.until('run_done', 6);
});
