import { describe, expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Discard, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const failing = () => {
  throw new Error('not today');
};

describe('a failed run', () => {
  test('ends even if its waits are zero or beyond the largest number', async () => {
    const { receiver, logs } = await started({ clock: new ManualClock() }, (r) =>
      r.on('*', { name: 'failing', retry: { attempts: 5, base: 0, factor: 1e200 } }, failing),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await logs.until('run_dead');
    expect(logs.of('run_retry')).toHaveLength(4);
    expect(logs.of('dispatch_failed')).toEqual([]);
  });

  test.each([Number.MAX_SAFE_INTEGER, Number.MAX_VALUE])(
    'waits although its cap is beyond all calendars (%d), and the next one of its call waits for it',
    async (cap) => {
      const seen: (string | number)[] = [];
      const { receiver, logs } = await started({ random: () => 0.99 }, (r) =>
        r.on('*', { name: 'failing', order: 'strict', retry: { base: cap, cap } }, ({ traceId }) => {
          seen.push(traceId);
          throw new Error('no');
        }),
      );
      await deliver(receiver, bodyOf({ traceId: 'first', callId: 'call-1' }));
      await logs.until('run_retry');
      await deliver(receiver, bodyOf({ traceId: 'second', callId: 'call-1' }));
      await expect.poll(async () => (await receiver.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
      expect(seen).toEqual(['first']);
      expect(logs.of('dispatch_failed')).toEqual([]);
    },
  );

  test("gets from the receiver's options what its handler's leave out", async () => {
    const retry = { attempts: 3, base: 0 } as const;
    const { receiver, logs } = await started({ retry }, (r) =>
      r.on('*', { name: 'failing', retry: { cap: '2m' } }, failing),
    );
    await deliver(receiver);
    await logs.until('run_dead');
    expect(logs.of('run_retry')).toHaveLength(2);
  });

  test('whose handler is given fewer attempts than were made is dead, and its reason is kept', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const later = () => {
      throw new RetryLater('1h', 'the CRM is down');
    };
    const before = await started({ clock, database }, (r) => r.on('*', { name: 'save' }, later));
    await deliver(before.receiver);
    await before.logs.until('run_retry');
    await before.receiver.stop();
    clock.advance(3_600_000);

    const retry = { attempts: 1 };
    const { receiver, logs } = await started({ clock, database }, (r) =>
      r.on('*', { name: 'save', retry }, later),
    );
    expect(await logs.until('run_dead')).toMatchObject([{ cause: 'no_attempt_left' }]);
    const { events } = await receiver.events.list({ state: 'dead' });
    expect(events[0]?.runs).toMatchObject([
      { attempts: 1, reason: 'no attempt is left after 1 (its reason was: the CRM is down)' },
    ]);
  });

  test('is counted as running while it is tried again, and keeps its event open', async () => {
    const gate = new Gate();
    const { receiver, logs } = await started({ retry: { base: 0 } }, (r) =>
      r.on('*', { name: 'second' }, async (_event, { attempt }) => {
        if (attempt === 1) failing();
        await gate.pass();
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
    await gate.reached;
    expect(await receiver.counts()).toMatchObject({
      events: { new: 0, open: 1, done: 0 },
      runs: { due: 0, running: 1, blocked: 0, dead: 0 },
    });
    expect((await receiver.events.list({ state: 'open' })).events).toMatchObject([{ traceId: 'trace-1' }]);
    gate.open();
    await logs.until('run_done');
  });

  test('is tried again with growing waits, and is a dead letter when its attempts are exhausted', async () => {
    const clock = new ManualClock();
    const attempts: number[] = [];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { name: 'failing', retry: { attempts: 4, base: '1s', factor: 3 } }, (_event, { attempt }) => {
        attempts.push(attempt);
        failing();
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'trace-1', callId: 'call-1' }));
    for (const [index, wait] of [500, 1_500, 4_500].entries()) {
      await logs.until('run_retry', index + 1);
      await clock.timer(wait);
      clock.advance(wait - 1);
      expect(attempts).toHaveLength(index + 1);
      clock.advance(1);
    }
    await logs.until('run_dead');
    expect(attempts).toEqual([1, 2, 3, 4]);
    expect((await receiver.events.list({ state: 'dead' })).events).toMatchObject([
      {
        traceId: 'trace-1',
        callId: 'call-1',
        runs: [{ handler: 'failing', attempts: 4, reason: 'not today' }],
      },
    ]);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
  });

  test('waits no longer than the cap', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, random: () => 0.999_999 }, (r) =>
      r.on('*', { retry: { base: '1s', factor: 10, cap: '5s' } }, failing),
    );
    await deliver(receiver);
    for (const [index, wait] of [1_000, 5_000, 5_000].entries()) {
      await logs.until('run_retry', index + 1);
      await clock.timer(wait);
      clock.advance(wait);
    }
  });

  test.each<[string, Error]>([
    ['an error', new Error('no answer')],
    ['a location that only its message names', new Error('of\n    at caller (/+15550100:1:2)')],
    ['a message that was changed', Object.assign(new Error('a'), { message: 'b' })],
  ])('the log says where it was thrown: %s', async (_what, error) => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { retry: { attempts: 1 } }, () => {
        throw error;
      }),
    );
    await deliver(receiver);
    const [dead] = await logs.until('run_dead');
    expect(dead?.['location']).toMatch(/^test\/dispatch\/retry\.test\.ts:\d+:\d+$/);
  });

  test('is retried after the time that RetryLater gives', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock }, (r) =>
      r.on('*', (_event, { attempt }) => {
        if (attempt === 1) throw new RetryLater('10m', 'the analysis is not ready');
      }),
    );
    await deliver(receiver);
    expect(await logs.until('run_retry')).toMatchObject([{ cause: 'RetryLater', attempt: 1 }]);
    await clock.timer(600_000);
    clock.advance(600_000);
    expect(await logs.until('run_done')).toMatchObject([{ attempt: 2 }]);
  });

  test('is retried after an error of the app that extends RetryLater, whatever its name is', async () => {
    class Busy extends RetryLater {
      override readonly name = 'Busy';
    }
    const { receiver, logs } = await started({ clock: new ManualClock() }, (r) =>
      r.on('*', () => {
        throw new Busy('10m');
      }),
    );
    await deliver(receiver);
    expect(await logs.until('run_retry')).toMatchObject([{ cause: 'RetryLater', attempt: 1 }]);
  });

  test('is a dead letter at once with Discard', async () => {
    class Unknown extends Discard {
      override readonly name = 'Unknown';
    }
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', () => {
        throw new Unknown('the customer no longer exists');
      }),
    );
    await deliver(receiver);
    await logs.until('run_dead');
    expect(logs.of('run_retry')).toEqual([]);
    expect((await receiver.events.list({ state: 'dead' })).events).toMatchObject([
      { runs: [{ attempts: 1, reason: 'the customer no longer exists' }] },
    ]);
  });

  test.each<[string, () => unknown]>([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a symbol', () => Symbol('odd')],
    ['an object without a prototype', () => Object.create(null)],
    ['an error whose message is no text', () => Object.assign(new Error(), { message: 42, name: 42 })],
    ['an error whose message throws', () => Object.defineProperty(new Error(), 'message', { get: failing })],
    ['an object that throws whatever is asked of it', () => new Proxy({}, { get: failing, has: failing })],
  ])('may have thrown %s', async (_, thrown) => {
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r.on('*', () => {
        throw thrown();
      }),
    );
    await deliver(receiver);
    await logs.until('run_dead');
    expect((await receiver.counts()).runs.dead).toBe(1);
  });
});

describe('the deadline of an attempt', () => {
  test('aborts the signal, and the attempt counts as failed', async () => {
    const clock = new ManualClock();
    const aborted = Promise.withResolvers<void>();
    const { receiver, logs } = await started({ clock, timeout: '7s', retry: { attempts: 1 } }, (r) =>
      r.on('*', (_event, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        return new Promise(() => {});
      }),
    );
    await deliver(receiver);
    await clock.timer(7_000);
    clock.advance(7_000);
    await aborted.promise;
    expect(await logs.until('run_dead')).toMatchObject([{ cause: 'deadline' }]);
  });

  test("is the handler's own, where it has one", async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock }, (r) =>
      r.on('*', { timeout: '250ms', retry: { attempts: 1 } }, () => new Promise(() => {})),
    );
    await deliver(receiver);
    await clock.timer(250);
    clock.advance(250);
    await logs.until('run_dead');
  });

  test('leaves no timer once the attempt has ended', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, timeout: '7s' }, (r) =>
      r.on('*', async () => {
        await turn();
      }),
    );
    await deliver(receiver);
    await logs.until('run_done');
    expect(clock.hasTimer(7_000)).toBe(false);
  });
});
