import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { ConfigError, type Order, type Receiver, type ReceiverOptions } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** Receivers with two handlers, which write down what they have seen. */
function collecting(order: Order = 'call', gate?: Gate) {
  const seen: Record<'crm' | 'mail', string[]> = { crm: [], mail: [] };
  const start = (options: ReceiverOptions = {}) =>
    started(options, (r) => {
      r.on('*', { name: 'crm', order }, async ({ traceId }) => {
        if (traceId === 'first') await gate?.pass();
        seen.crm.push(traceId);
      });
      r.on('*', { name: 'mail', order }, ({ traceId }) => seen.mail.push(traceId));
    });
  return { seen, start };
}

const stateOf = async (receiver: Receiver, name: string) =>
  (await receiver.handlers.list()).handlers.find((handler) => handler.name === name);

describe('a paused handler', () => {
  test.each(['none', 'call', 'strict'] as const)(
    'finishes what has begun, begins nothing more, and goes on in order when it is resumed, with order %s',
    async (order) => {
      const gate = new Gate();
      const { seen, start } = collecting(order, gate);
      const { receiver, logs } = await start();
      await deliver(receiver, bodyOf({ traceId: 'first', callId: 'call-1' }));
      await deliver(receiver, bodyOf({ traceId: 'second', callId: 'call-1' }));
      await gate.reached;
      if (order === 'none') await expect.poll(() => seen.crm).toEqual(['second']);
      await receiver.handlers.pause('crm', { by: 'ann', reason: 'the CRM moves' });
      expect(await deliver(receiver, bodyOf({ traceId: 'third', callId: 'call-1' }))).toMatchObject({
        status: 200,
      });
      gate.open();
      await expect.poll(() => seen.mail).toEqual(['first', 'second', 'third']);
      const waiting = order === 'none' ? 1 : 2;
      await expect
        .poll(async () => {
          const { due, running, blocked } = (await stateOf(receiver, 'crm')) ?? {};
          return [running, (due ?? 0) + (blocked ?? 0)];
        })
        .toEqual([0, waiting]);
      expect(await stateOf(receiver, 'crm')).toMatchObject({ pause: { by: 'ann', reason: 'the CRM moves' } });
      expect(await stateOf(receiver, 'mail')).toMatchObject({ due: 0, pause: undefined });

      expect(await receiver.handlers.resume('crm')).toBe(true);
      await logs.until('run_done', 6);
      const expected = order === 'none' ? ['second', 'first', 'third'] : ['first', 'second', 'third'];
      expect(seen.crm).toEqual(expected);
      expect(await stateOf(receiver, 'crm')).toMatchObject({ due: 0, blocked: 0, pause: undefined });
    },
  );

  test('runs what waited for concurrency once it is resumed', async () => {
    const gate = new Gate();
    const seen: string[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { name: 'crm', concurrency: 1 }, async ({ traceId }) => {
        seen.push(traceId);
        await gate.pass();
      }),
    );
    const bodies = ['a', 'b'].map((traceId) => bodyOf({ traceId, callId: `call-of-${traceId}` }));
    for (const body of bodies) await deliver(receiver, body);
    await gate.reached;
    await receiver.handlers.pause('crm');
    gate.open();
    await logs.until('run_done');
    await expect.poll(async () => (await stateOf(receiver, 'crm'))?.due).toBe(1);
    await receiver.handlers.resume('crm');
    await deliver(receiver, bodyOf({ traceId: 'c', callId: 'call-of-b' }));
    await logs.until('run_done', 3);
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  test('is skipped when due runs are claimed', async () => {
    const claimed: unknown[] = [];
    const database = storeAround(':memory:', systemClock, (method, work) =>
      method === 'claimRuns'
        ? (handler, ...rest) => {
            claimed.push((handler as { readonly name: string }).name);
            return work(handler, ...rest);
          }
        : undefined,
    );
    const { receiver, logs } = await collecting().start({ database });
    await receiver.handlers.pause('crm');
    for (const traceId of ['a', 'b', 'c']) await deliver(receiver, bodyOf({ traceId }));
    await logs.until('run_done', 3);
    await expect.poll(async () => (await stateOf(receiver, 'crm'))?.due).toBe(3);
    expect(claimed).not.toContain('crm');
  });

  test('does not try again what has failed', async () => {
    const clock = new ManualClock();
    const attempts: number[] = [];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { name: 'crm' }, (_, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new Error('not yet');
      }),
    );
    await deliver(receiver, bodyOf());
    await logs.until('run_retry');
    await receiver.handlers.pause('crm');
    await clock.timer(2_000);
    clock.advance(60_000);
    // A handler that is not paused would have taken what comes now after what has been due for a minute.
    expect(await stateOf(receiver, 'crm')).toMatchObject({ due: 1 });
    expect(attempts).toEqual([1]);
    await receiver.handlers.resume('crm');
    await logs.until('run_done');
    expect(attempts).toEqual([1, 2]);
  });

  test('stays paused over a restart', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const { seen, start } = collecting();
    const before = await start({ database });
    await before.receiver.handlers.pause('crm', { by: 'ann' });
    await deliver(before.receiver, bodyOf({ traceId: 'a' }));
    await before.logs.until('run_done');
    await before.receiver.stop();
    const { receiver, logs } = await start({ database });
    await deliver(receiver, bodyOf({ traceId: 'b' }));
    await logs.until('run_done');
    expect(seen).toEqual({ crm: [], mail: ['a', 'b'] });
    await expect.poll(() => stateOf(receiver, 'crm')).toMatchObject({ due: 2, pause: { by: 'ann' } });
    await receiver.handlers.resume('crm');
    await expect.poll(() => seen.crm.toSorted()).toEqual(['a', 'b']);
  });

  test('is paused and resumed by another process, too', async () => {
    const database = temporaryDatabase();
    const { seen, start } = collecting();
    const { receiver } = await start({ database });
    const other = made({ database }).receiver;
    await other.start();
    expect(await stateOf(other, 'crm')).toMatchObject({ isRegistered: true, settings: undefined });
    await other.handlers.pause('crm');
    // Until its next heartbeat, the handler may run.
    await expect
      .poll(async () => {
        await deliver(receiver, bodyOf({ callId: 'call-1' }));
        await expect.poll(async () => (await receiver.counts()).events.new).toBe(0);
        return (await stateOf(receiver, 'crm'))?.due;
      })
      .toBeGreaterThan(0);
    const { crm: before } = structuredClone(seen);
    await other.handlers.resume('crm');
    await expect.poll(() => seen.crm.length).toBeGreaterThan(before.length);
    await expect.poll(async () => (await stateOf(receiver, 'crm'))?.due).toBe(0);
    expect(seen.crm).toEqual(seen.mail);
  });

  test(
    'under load, loses nothing, runs nothing twice, and keeps the order of each call',
    { tags: 'long' },
    async () => {
      const { seen, start } = collecting();
      const { receiver, logs } = await start({ database: temporaryDatabase() });
      const bodies = Array.from({ length: 400 }, (_, index) =>
        bodyOf({ traceId: `${index % 20} ${String(index).padStart(3, '0')}`, callId: `call-${index % 20}` }),
      );
      for (let begun = 0; begun < bodies.length; begun += 50) {
        const answers = bodies.slice(begun, begun + 50).map((body) => deliver(receiver, body));
        if (begun % 100 === 0) await receiver.handlers.pause('crm');
        else await receiver.handlers.resume('crm');
        await Promise.all(answers);
      }
      await logs.until('run_done', 800);
      for (let call = 0; call < 20; call += 1) {
        const own = seen.crm.filter((traceId) => traceId.startsWith(`${call} `));
        expect(own).toHaveLength(20);
        expect(own).toEqual(own.toSorted());
      }
    },
  );
});

describe('pausing', () => {
  test('a handler that is paused already keeps its earlier pause', async () => {
    const { receiver, logs } = await collecting().start();
    const earlier = await receiver.handlers.pause('crm', { by: 'ann', reason: 'the CRM moves' });
    expect(await receiver.handlers.pause('crm', { by: 'bob' })).toEqual(earlier);
    expect(logs.of('handler_paused')).toHaveLength(1);
    expect(await receiver.handlers.resume('crm')).toBe(true);
    expect(await receiver.handlers.resume('crm')).toBe(false);
  });

  test('an unknown name is refused with a suggestion', async () => {
    const { receiver } = await collecting().start();
    await expect(receiver.handlers.pause('crn')).rejects.toThrow(
      'The handler "crn" should be registered before it is paused, but it is not. Did you mean "crm"?',
    );
    await expect(receiver.handlers.pause('')).rejects.toThrow(ConfigError);
    expect((await receiver.handlers.list()).handlers.some(({ pause }) => pause)).toBe(false);
  });

  test('says when a handler is known, because its name may be right and its process stopped', async () => {
    const { receiver } = await started({}, () => {});
    await expect(receiver.handlers.pause('crm')).rejects.toThrow(
      'it is not. The handlers are: none. A handler is known while a process that has registered it runs, or while one of its runs is not done.',
    );
  });

  test('a list says what each handler is registered for', async () => {
    const { receiver } = await started({}, (r) => {
      r.on('CallHandler.*', { name: 'crm', order: 'strict', concurrency: 3, timeout: '5s' }, () => {});
      r.onCall({ name: 'join', events: ['CallHandler.CallEnded'], within: '2m' }, () => {});
    });
    const { handlers, processes } = await receiver.handlers.list();
    expect(handlers).toMatchObject([
      {
        name: 'crm',
        isRegistered: true,
        settings: { patterns: ['CallHandler.*'], order: 'strict', concurrency: 3, timeout: 5_000 },
      },
      { name: 'join', settings: { join: { events: ['CallHandler.CallEnded'], within: 120_000 } } },
    ]);
    expect(processes).toEqual([
      {
        id: expect.any(Number),
        host: hostname(),
        pid: process.pid,
        startedAt: expect.any(Date),
        heartbeatAt: isOnPostgres ? expect.any(Date) : undefined,
        handlers: ['crm', 'join'],
        isThis: true,
      },
    ]);
  });
});
