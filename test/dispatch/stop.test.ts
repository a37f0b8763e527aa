import { describe, expect, test } from 'vitest';
import { heartbeatInterval } from '../../src/store/timeouts.ts';
import { faultyStore } from '../faults/faulty-store.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { address, bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { made, started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

describe('stop', () => {
  test('lets active runs end, begins no other, and leaves what was not begun for the next start', async () => {
    const database = temporaryDatabase();
    const gate = new Gate();
    const seen: string[] = [];
    const { receiver } = await started({ database, concurrency: 1 }, (r) =>
      r.on('*', async (event) => {
        await gate.pass();
        seen.push(event.traceId);
      }),
    );
    for (const traceId of ['first', 'second', 'third']) await deliver(receiver, bodyOf({ traceId }));
    await gate.reached;
    const stopping = receiver.stop();
    gate.open();
    await stopping;
    expect(seen).toEqual(['first']);

    const next = await started({ database }, (r) => r.on('*', (event) => seen.push(event.traceId)));
    await next.logs.until('run_done', 2);
    expect(seen).toEqual(['first', 'second', 'third']);
  });

  test('waits for a body that does not come whole beside the runs, and not before them', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const { receiver } = await started({ clock, timeout: '1h', limits: { bodyTimeout: '10s' } }, (r) =>
      r.on('*', { name: 'hanging' }, () => gate.pass()),
    );
    await deliver(receiver);
    await gate.reached;
    const half = new Request(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{')) }),
      duplex: 'half',
    });
    const answer = receiver.fetch(half);
    await clock.timer(10_000);
    const stopping = receiver.stop({ drain: '10s' });
    await clock.timer(10_000);
    clock.advance(10_000);
    expect((await answer).status).toBe(408);
    await stopping;
  });

  test('interrupts what does not end in time; it is taken up again, and the attempt does not count', async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const gate = new Gate();
    const reasons: unknown[] = [];
    const attempts: number[] = [];
    const { receiver, logs } = await started({ database, clock, timeout: '1h' }, (r) =>
      r.on('*', { name: 'hanging', retry: { attempts: 1 } }, async (_event, { signal, attempt }) => {
        attempts.push(attempt);
        signal.addEventListener('abort', () => reasons.push(signal.aborted));
        await gate.pass();
      }),
    );
    await deliver(receiver);
    await gate.reached;
    const stopping = receiver.stop({ drain: '3s' });
    await clock.timer(3_000);
    clock.advance(2_999);
    await turn();
    expect(reasons).toEqual([]);
    clock.advance(1);
    await stopping;
    expect(reasons).toEqual([true]);
    // It is due at once: there is no time to tell.
    expect(logs.of('run_retry')[0]).not.toHaveProperty('retryAt');

    const next = await started({ database }, (r) =>
      r.on('*', { name: 'hanging', retry: { attempts: 1 } }, (_event, { attempt }) => {
        attempts.push(attempt);
      }),
    );
    await next.logs.until('run_done');
    expect(attempts).toEqual([1, 1]);
    expect((await next.receiver.counts()).runs.dead).toBe(0);
  });

  test('is the end of the heartbeats: one that fails later is neither reported nor followed by another', async () => {
    const clock = new ManualClock();
    const betweenHeartbeats = new Gate();
    const ended = Promise.withResolvers<void>();
    let heartbeats = 0;
    const database = storeAround(':memory:', clock, (method, work) =>
      method === 'keepAlive'
        ? async (...given) => {
            heartbeats += 1;
            if (heartbeats === 1) return work(...given);
            await betweenHeartbeats.pass();
            setImmediate(ended.resolve);
            throw new Error('the inbox is closed');
          }
        : undefined,
    );
    const gate = new Gate();
    const { receiver, logs } = await started({ clock, database }, (r) => r.on('*', gate.pass));
    await deliver(receiver, bodyOf());
    await gate.reached;
    const stopping = receiver.stop({ drain: '10s' });
    await clock.timer(10_000);
    clock.advance(heartbeatInterval);
    await betweenHeartbeats.reached;
    gate.open();
    await stopping;
    betweenHeartbeats.open();
    await ended.promise;
    clock.advance(10 * heartbeatInterval);
    expect(logs.of('dispatch_failed')).toEqual([]);
    expect(heartbeats).toBe(2);
  });

  test('refuses a drain that is no duration, and keeps running', async () => {
    const { receiver } = await started();
    await expect(receiver.stop({ drain: 'soon' as never })).rejects.toThrow(
      /option drain in stop should be .* a duration/,
    );
    await expect(receiver.stop({ drian: '1s' } as never)).rejects.toThrow(/Did you mean drain\?$/);
    expect((await deliver(receiver)).status).toBe(200);
  });

  test('called again, waits for the first call', async () => {
    const gate = new Gate();
    let ended = 0;
    const { receiver } = await started({}, (r) =>
      r.on('*', async () => {
        await gate.pass();
        ended += 1;
      }),
    );
    await deliver(receiver);
    await gate.reached;
    const first = receiver.stop();
    const endedAtSecond = receiver.stop().then(() => ended);
    await turn();
    gate.open();
    expect(await endedAtSecond).toBe(1);
    await first;
  });

  test('before start is not lost: the receiver can no longer be started', async () => {
    const { receiver } = made();
    await receiver.stop();
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_stopped' });
    expect(receiver.isReady).toBe(false);
  });

  test.skipIf(isOnPostgres)('with a database in use is not lost before it has ended', async () => {
    const { receiver } = made({ database: temporaryDatabase() });
    receiver.database.exec('create table orders (id text)');
    const stopping = receiver.stop();
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_stopped' });
    await stopping;
  });

  test('without timeout does not wait for the pause before a write is tried again', async () => {
    // Time is blocked: the pause would never be over.
    const clock = new ManualClock();
    const database = faultyStore(':memory:', clock, (method) => (method === 'settle' ? 'before' : undefined));
    const { receiver, logs } = await started({ clock, database }, (r) => r.on('*', () => {}));
    await deliver(receiver);
    await logs.until('dispatch_failed');
    await receiver.stop({ drain: 0 });
    expect(logs.of('receiver_stopped')).toHaveLength(1);
  });

  test('called twice at once, and again when it has stopped, stops once', async () => {
    const { receiver } = await started();
    await Promise.all([receiver.stop(), receiver.stop()]);
    await receiver.stop();
    expect(receiver.isReady).toBe(false);
  });
});
