import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, deliverAll } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

describe('handlers of one event', () => {
  test('are retried each for itself: a sibling that is done is not run again', async () => {
    const clock = new ManualClock();
    const runs = { steady: 0, shaky: 0 };
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r
        .on('*', { name: 'steady' }, () => {
          runs.steady += 1;
        })
        .on('*', { name: 'shaky' }, () => {
          runs.shaky += 1;
          if (runs.shaky < 3) throw new Error('not yet');
        }),
    );
    await deliver(receiver);
    for (const [index, wait] of [500, 1_000].entries()) {
      await logs.until('run_retry', index + 1);
      await clock.timer(wait);
      clock.advance(wait);
    }
    await logs.until('run_done', 2);
    expect(runs).toEqual({ steady: 1, shaky: 3 });
  });

  test('do not wait for one another: a slow one delays neither its sibling nor the next call', async () => {
    const gate = new Gate();
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('*', { name: 'slow', concurrency: 1 }, gate.pass)
        .on('*', { name: 'quick', concurrency: 1 }, () => {}),
    );
    for (let index = 0; index < 10; index += 1) await deliver(receiver);
    await gate.reached;
    const quick = await logs.until('run_done', 10);
    expect(quick.map(({ handler }) => handler)).toEqual(Array(10).fill('quick'));
    gate.open();
    await logs.until('run_done', 20);
  });

  const strict = { order: 'strict', many: 600, inMemory: 251 } as const;
  const callOrder = { order: 'call', many: 2_300, inMemory: 2_001 } as const;
  // Thousands of events are too many for a second store.
  test.each(isOnPostgres ? [strict] : [callOrder, strict])(
    'do not wait for a call of which more waits than fits into memory: $order',
    { tags: 'long' },
    async ({ order, many, inMemory }) => {
      const gate = new Gate();
      const seen: string[] = [];
      const { receiver, logs } = await started({}, (r) =>
        r.on('*', { name: 'slow', order }, async ({ callId, traceId }) => {
          if (callId === 'busy') await gate.pass();
          seen.push(traceId);
        }),
      );
      const busy = Array.from({ length: many }, (_, index) => `busy-${index}`);
      const [first, ...others] = busy.map((traceId) => bodyOf({ traceId, callId: 'busy' }));
      await deliver(receiver, first);
      await gate.reached;
      await deliverAll(receiver, others);
      await deliver(receiver, bodyOf({ traceId: 'another', callId: 'another' }));
      await logs.until('run_done', 1);
      expect(seen).toEqual(['another']);
      // The other runs of the busy call stay in the inbox, however much room there is for other calls.
      const left = async () => {
        const { due, running, blocked } = (await receiver.counts()).runs;
        return { waiting: due + blocked, running };
      };
      await expect.poll(left).toEqual({ waiting: many - inMemory, running: 0 });
      gate.open();
      await logs.until('run_done', 300);
      // The runs of the busy call are in order, those from memory and those from the inbox.
      expect(seen.slice(1)).toEqual(busy.slice(0, seen.length - 1));
    },
  );

  test(
    'find the room in memory again that earlier events of a call have left',
    { tags: 'long' },
    async () => {
      let gate = new Gate();
      const { receiver, logs } = await started({}, (r) =>
        r.on('*', { name: 'slow', order: 'strict' }, () => gate.pass()),
      );
      for (const round of [1, 2, 3]) {
        gate = new Gate();
        const bodies = Array.from({ length: 150 }, (_, index) =>
          bodyOf({ traceId: `trace-${round}-${index}`, callId: 'busy' }),
        );
        await deliverAll(receiver, bodies);
        await gate.reached;
        expect((await receiver.counts()).runs).toMatchObject({ due: 0, running: 0, blocked: 0 });
        gate.open();
        await logs.until('run_done', 150 * round);
      }
    },
  );

  test('are not delayed by one that hangs, however large the events are', { tags: 'long' }, async () => {
    const gate = new Gate();
    const count = 40;
    const clock = new ManualClock();
    const { receiver, logs } = await started({ database: temporaryDatabase(), clock }, (r) =>
      r.on('*', { name: 'hanging', timeout: '1h' }, gate.pass).on('*', { name: 'healthy' }, () => {}),
    );
    const filler = 'x'.repeat(1_000_000);
    for (let index = 0; index < count; index += 1)
      await deliver(receiver, bodyOf({ traceId: `trace-${index}`, payload: { filler } }));
    // What a claim has missed, because a commit still held a lock, is looked for again after a while.
    const done = clock.passing(() => logs.of('run_done'));
    await expect.poll(done).toHaveLength(count);
    expect(done().every(({ handler }) => handler === 'healthy')).toBe(true);
    gate.open();
    await expect.poll(done).toHaveLength(2 * count);
  });

  test('of one handler are not delayed by a few large ones that hang', { tags: 'long' }, async () => {
    const gate = new Gate();
    const handled: string[] = [];
    const { receiver, logs } = await started({ database: temporaryDatabase(), random: () => 0.5 }, (r) => {
      for (const name of ['b', 'c', 'd', 'e', 'f', 'g', 'h']) r.on('Another.Event', { name }, () => {});
      const options = { name: 'slow', timeout: '1h', retry: { base: 20, cap: 20 } } as const;
      r.on('*', options, async ({ traceId }, { attempt }) => {
        if (traceId.startsWith('large')) await gate.pass();
        if (attempt === 1) throw new Error('not yet');
        handled.push(traceId);
      });
    });
    const filler = 'x'.repeat(1_200_000);
    for (let place = 0; place < 4; place += 1)
      await deliver(
        receiver,
        bodyOf({ traceId: `large-${place}`, callId: `call-${place}`, payload: { filler } }),
      );
    await gate.reached;
    for (const traceId of ['a', 'b', 'c'])
      await deliver(receiver, bodyOf({ traceId, callId: `call-of-${traceId}` }));
    await logs.until('run_done', 3);
    expect(handled.toSorted()).toEqual(['a', 'b', 'c']);
    gate.open();
    await logs.until('run_done', 7);
  });

  test.each([10, 100_000])('do not see what a sibling does to an event of %i bytes', async (size) => {
    const seen: unknown[] = [];
    const spoiled = new Gate();
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('CallHandler.CallEnded', { name: 'spoiling' }, (event) => {
          event.payload.call_id = 'spoiled';
          spoiled.open();
        })
        .on('CallHandler.CallEnded', { name: 'spoiling, too' }, (event) => {
          event.payload.call_id = 'spoiled, too';
        })
        .on('CallHandler.CallEnded', { name: 'reading' }, async (event) => {
          await spoiled.pass();
          seen.push(event.payload.call_id);
        }),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1', payload: { pad: 'x'.repeat(size) } }));
    await logs.until('run_done', 3);
    expect(seen).toEqual(['call-1']);
  });
});

describe('concurrency', () => {
  test('is how many runs of a handler are active at once', async () => {
    const gate = new Gate();
    let active = 0;
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('*', { name: 'counting', concurrency: 3 }, async () => {
          active += 1;
          await gate.pass();
        })
        // When this handler has seen all events, every run that may begin has begun.
        .on('*', { name: 'seeing' }, () => {}),
    );
    for (let index = 0; index < 12; index += 1) await deliver(receiver);
    await logs.until('run_done', 12);
    expect(active).toBe(3);
    gate.open();
    await logs.until('run_done', 24);
  });

  test(
    'bounds what waits in memory: hundreds of events behind a full handler are all handled',
    { tags: 'long' },
    async () => {
      const gate = new Gate();
      const seen = new Set<string>();
      const { receiver, logs } = await started({ concurrency: 1 }, (r) =>
        r.on('*', async (event) => {
          await gate.pass();
          seen.add(event.traceId);
        }),
      );
      await deliverAll(
        receiver,
        Array.from({ length: 600 }, () => bodyOf()),
      );
      await gate.reached;
      gate.open();
      await logs.until('run_done', 600);
      expect(seen.size).toBe(600);
    },
  );
});
