import { describe, expect, test } from 'vitest';
import { poisonEvents } from '../store/crash-counts.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { type Fault, type Method, faultyStore, poisonMethods, methods } from './faulty-store.ts';

/** A receiver on a store that breaks, with handlers whose effects are counted in the inbox's own database. */
async function breaking(fault: (method: Method, call: number) => Fault, isPoison: boolean) {
  const clock = new ManualClock();
  const plain: string[] = [];
  const { receiver, logs } = await started(
    {
      clock,
      database: faultyStore(':memory:', clock, fault, { claimsAtOnce: !isPoison }),
      retry: { attempts: 100, cap: '1s' },
    },
    (r) => {
      r.database.exec('create table effects (handler text, trace_id text)');
      // Attempts are then counted before they begin.
      if (isPoison) poisonEvents(r, 1);
      for (const order of ['call', 'strict'] as const) {
        const failed = new Set<string>();
        r.on('*', { name: order, order }, async ({ traceId }, { commit }) => {
          // Some need a second attempt, so that runs are stored as well.
          if (traceId.endsWith('0') && failed.size < failed.add(traceId).size) throw new Error('not yet');
          await commit((db) => void db.prepare('insert into effects values (?, ?)').run(order, traceId));
        });
      }
      r.on('*', { name: 'plain' }, ({ traceId }) => void plain.push(traceId));
    },
  );
  const effects = () =>
    receiver.database.prepare('select handler, trace_id from effects order by 1, 2').all() as {
      trace_id: string;
    }[];
  return { receiver, logs, clock, plain, effects };
}

/** Sends a delivery as the platform does: again, until it is acknowledged. */
async function send(receiver: Receiver, clock: ManualClock, traceId: string) {
  const body = bodyOf({ traceId, callId: `call-${traceId.at(-1)}` });
  for (let tries = 0; tries < 50; tries += 1) {
    const answer = await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    if (answer.status === 200) return;
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
  }
  throw new Error('It was refused fifty times');
}

async function everythingDone(receiver: Receiver, clock: ManualClock, count: number) {
  for (let seconds = 0; (await receiver.counts()).events.done < count; seconds += 1) {
    if (seconds > 500) throw new Error(`Not everything was done: ${JSON.stringify(await receiver.counts())}`);
    for (let turns = 0; turns < 10; turns += 1) await turn();
    clock.advance(1_000);
  }
}

async function goesThrough(
  fault: (method: Method, call: number) => Fault,
  { count = 6, isPoison = false }: { count?: number; isPoison?: boolean } = {},
) {
  const { receiver, clock, plain, effects } = await breaking(fault, isPoison);
  const traceIds = Array.from({ length: count }, (_, index) => `trace-${Math.floor(index / 2)}${index % 2}`);
  for (const traceId of traceIds) await send(receiver, clock, traceId);
  await everythingDone(receiver, clock, count);
  const expected = ['call', 'strict'].flatMap((handler) =>
    traceIds.map((trace_id) => ({ handler, trace_id })),
  );
  expect(effects()).toEqual(
    expected.toSorted((a, b) => (a.handler + a.trace_id < b.handler + b.trace_id ? -1 : 1)),
  );
  expect(new Set(plain)).toEqual(new Set(traceIds));
  expect((await receiver.counts()).runs).toMatchObject({ due: 0, running: 0, blocked: 0, dead: 0 });
}

describe('nothing acknowledged is lost and no effect is doubled', () => {
  for (const method of methods) {
    for (const when of ['before', 'after'] as const) {
      for (const call of method === 'keepAlive' ? [2] : [1, 2, 4]) {
        const tags = call === 2 && method !== 'keepAlive' ? ['long'] : [];
        test(`when ${method} breaks ${when} its work, at call ${call}`, { tags }, async () => {
          await goesThrough((name, at) => (name === method && at === call ? when : undefined));
        });
      }
    }
  }

  test('when everything breaks now and then', { tags: 'long' }, async () => {
    let state = 7;
    // A fixed sequence of pseudo-random numbers, so that a failure can be reproduced.
    const next = () => (state = (state * 48_271) % 2_147_483_647) % 10;
    await goesThrough(
      (method, call) => {
        if (method === 'keepAlive' && call === 1) return undefined;
        return (['before', 'after'] as const)[next() < 3 ? next() % 2 : 2];
      },
      { count: 40 },
    );
  });

  test('when the only delivery is recorded and the answer of the store is lost', async () => {
    const clock = new ManualClock();
    const fault = (method: Method, call: number) => (method === 'record' && call === 1 ? 'after' : undefined);
    const { receiver } = await started({ clock, database: faultyStore(':memory:', clock, fault) });
    // When the receiver has nothing to do, only a delivery makes it look for events.
    for (let pulses = 0; pulses < 20; pulses += 1) {
      clock.advance(1_000);
      await turn();
    }
    await send(receiver, clock, 'trace-1');
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect((await receiver.counts()).events.done).toBe(1);
  });

  for (const when of ['before', 'after'] as const) {
    for (const method of ['settle', 'settleWith', ...poisonMethods] as const) {
      test(`when ${method} breaks ${when} its work, over events that a process has died over`, async () => {
        const fault = (name: Method, call: number) => (name === method && call % 3 === 1 ? when : undefined);
        await goesThrough(fault, { isPoison: true });
      });
    }
  }

  test('when an event that no handler takes cannot be marked done at first', async () => {
    for (const when of ['before', 'after'] as const) {
      const clock = new ManualClock();
      const store = faultyStore(':memory:', clock, (method, call) =>
        method === 'finish' && call === 1 ? when : undefined,
      );
      const { receiver } = await started({ clock, database: store });
      await send(receiver, clock, 'trace-1');
      await everythingDone(receiver, clock, 1);
    }
  });

  test("when a run's failure is written and the answer of the store is lost, strict runs behind it stay blocked", async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const handled: string[] = [];
    const fault = (method: Method, call: number) => (method === 'settle' && call === 1 ? 'after' : undefined);
    const { receiver, logs } = await started(
      { clock, database: faultyStore(':memory:', clock, fault) },
      (r) =>
        r.on('*', { order: 'strict' }, async ({ traceId }, { attempt }) => {
          if (traceId === 'trace-00' && attempt === 1) {
            await gate.pass();
            throw new Error('not yet');
          }
          handled.push(traceId);
        }),
    );
    await send(receiver, clock, 'trace-00');
    await gate.reached;
    await send(receiver, clock, 'trace-10');
    // By then it waits in memory.
    for (let turns = 0; turns < 50; turns += 1) await turn();
    gate.open();
    await everythingDone(receiver, clock, 2);
    expect(logs.of('run_lost')).toHaveLength(1);
    expect(handled).toEqual(['trace-00', 'trace-10']);
  });

  test('when a run could not go back at first, later events of its call do not wait for it for ever', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const { receiver, logs } = await started({ clock }, (r) =>
      r.on('*', { order: 'strict' }, async ({ traceId }, { attempt }) => {
        if (traceId !== 'trace-00' || attempt > 1) return;
        await gate.pass();
        throw new Error('not yet');
      }),
    );
    await send(receiver, clock, 'trace-00');
    await gate.reached;
    await send(receiver, clock, 'trace-10');
    // By then it waits in memory.
    for (let turns = 0; turns < 50; turns += 1) await turn();
    receiver.database.exec(`create trigger refuse before insert on runs when new.sequence = 2
      begin select raise(abort, 'refused'); end`);
    gate.open();
    await logs.until('dispatch_failed');
    receiver.database.exec('drop trigger refuse');
    await everythingDone(receiver, clock, 2);
    await send(receiver, clock, 'trace-20');
    await everythingDone(receiver, clock, 3);
  });
});
