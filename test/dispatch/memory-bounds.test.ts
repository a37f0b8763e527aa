// @module-tag long
/** Few calls with more events than may be in memory. */
import { expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, deliverAll, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import { type Receiver, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** The most runs that may follow a run of their call in memory, with order `call`, and the most claimed at once. */
const maxInMemory = 2_000 + 500;

/** The most runs that may follow a run of their call in memory. */
const maxFollowing = { call: 2_000, strict: 250 };

async function fill(receiver: Receiver, { calls, each }: { calls: number; each: number }): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const bodies = Array.from({ length: each }, (_, index) =>
      bodyOf({ traceId: `trace-${call}-${index}`, callId: `call-${call}` }),
    );
    await deliverAll(receiver, bodies);
  }
}

test('events without room in memory stay in the inbox, however many calls they belong to', async () => {
  const database = temporaryDatabase();
  const before = await started({ database, clock: new ManualClock() }, () => {});
  await fill(before.receiver, { calls: 13, each: 200 });
  await before.receiver.stop();
  const gate = new Gate();
  await started({ database }, (r) => r.on('*', { timeout: '1h' }, gate.pass));
  await gate.reached;
  const count = async (from: string) => (await rowsIn(database, `select 1 from ${from}`)).length;
  await expect.poll(() => count('waiting')).toBe(0);
  for (let turns = 0; turns < 300; turns += 1) await turn();
  expect((await count('claims')) + (await count("runs where state = 'claimed'"))).toBeLessThan(maxInMemory);
  gate.open();
});

test('a call has no more in memory than its bound, however large its events are', async () => {
  const database = temporaryDatabase();
  const gate = new Gate();
  const { receiver, logs } = await started({ database, clock: new ManualClock() }, (r) =>
    r.on('*', { name: 'hanging', timeout: '1h' }, gate.pass).on('*', { name: 'healthy' }, () => {}),
  );
  const size = 1_000_000;
  const payload = { filler: 'x'.repeat(size) };
  for (let index = 0; index < 60; index += 1)
    await deliver(receiver, bodyOf({ traceId: `trace-${index}`, callId: 'call-1', payload }));
  const count = async (from: string) => (await rowsIn(database, `select 1 from ${from}`)).length;
  await logs.until('run_done', 60);
  for (let turns = 0; turns < 300; turns += 1) await turn();
  const claimed = (await count('claims')) + (await count("runs where state = 'claimed'"));
  expect(claimed * size).toBeLessThan(48_000_000);
  gate.open();
});

test('many handlers together claim no more than the bound in memory, however much is due', async () => {
  const clock = new ManualClock();
  const database = temporaryDatabase();
  const gate = new Gate();
  let isBroken = true;
  const { receiver, logs } = await started({ clock, database, random: () => 0.5 }, (r) => {
    const options = { timeout: '1h', concurrency: 1, retry: { base: 60_000, cap: 60_000 } } as const;
    for (let index = 0; index < 12; index += 1)
      r.on('*', { ...options, name: `handler-${index}` }, async () => {
        if (isBroken) throw new Error('not yet');
        await gate.pass();
      });
  });
  const payload = { filler: 'x'.repeat(1_000_000) };
  for (let index = 0; index < 9; index += 1) {
    const body = bodyOf({ traceId: `trace-${index}`, callId: `call-${index}`, payload });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await logs.until('run_retry', 12 * (index + 1));
  }
  await expect.poll(async () => (await receiver.counts()).runs.due).toBe(9 * 12);
  isBroken = false;
  clock.advance(60_000);
  const claimedBy = () => rowsIn(database, "select distinct handler from runs where state = 'claimed'");
  await expect.poll(async () => (await claimedBy()).length).toBe(12);
  const claimed = await rowsIn(database, "select 1 from runs where state = 'claimed'");
  expect(claimed.length).toBeLessThan(72);
  gate.open();
});

test('a strict run is tried again when it is due, however many wait behind it', async () => {
  const clock = new ManualClock();
  const gate = new Gate();
  const attempts: number[] = [];
  const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
    r.on('*', { order: 'strict', retry: { base: 50, cap: 50 } }, async ({ traceId }, { attempt }) => {
      if (traceId !== 'first') return;
      attempts.push(attempt);
      if (attempt === 1) await gate.pass();
      if (attempt < 3) throw new Error('not yet');
    }),
  );
  const send = (traceId: string) => {
    const body = bodyOf({ traceId, callId: 'call-1' });
    return deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  };
  await send('first');
  await gate.reached;
  await deliverAll(
    receiver,
    Array.from({ length: 270 }, (_, index) => bodyOf({ traceId: `behind-${index}`, callId: 'call-1' })),
  );
  gate.open();
  for (const count of [1, 2]) {
    await logs.until('run_retry', count);
    await clock.timer(25);
    clock.advance(25);
  }
  await logs.until('run_done', 271);
  expect(attempts).toEqual([1, 2, 3]);
});

test.each(['call', 'strict'] as const)(
  'a call with more events than memory has room for is handled without a pause, with order %s',
  async (order) => {
    const clock = new ManualClock();
    const gate = new Gate();
    const seen: string[] = [];
    const count = maxFollowing[order] * 1.1;
    const { receiver, logs } = await started({ clock, database: temporaryDatabase() }, (r) =>
      r.on('*', { order }, async ({ traceId }) => {
        if (traceId === 'trace-0') await gate.pass();
        seen.push(traceId);
      }),
    );
    const expected = Array.from({ length: count }, (_, index) => `trace-${index}`);
    const [first, ...others] = expected.map((traceId) => bodyOf({ traceId, callId: 'call-1' }));
    await deliver(receiver, first);
    await gate.reached;
    await deliverAll(receiver, others);
    gate.open();
    const done = logs.until('run_done', count);
    while (logs.of('run_done').length < count) {
      // The next claim of what is due already. Whatever waits for longer would wait for ever.
      await Promise.race([clock.timer(1).then(() => clock.advance(1)), done]);
    }
    expect(seen).toEqual(expected);
  },
);

test('a delivery of a call that fills the memory does not scan all waiting events of it', async () => {
  const clock = new ManualClock();
  const gate = new Gate();
  let looks = 0;
  const database = storeAround(':memory:', clock, (method, work) => {
    if (method !== 'claimRuns') return undefined;
    return (...given) => {
      looks += 1;
      return work(...given);
    };
  });
  const { receiver } = await started({ clock, database }, (r) => r.on('*', { timeout: '1h' }, gate.pass));
  const send = async () => {
    const body = bodyOf({ callId: 'call-1' });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  };
  const untilWaiting = async (count: number) => {
    await expect
      .poll(async () => (await receiver.counts()).runs.due, { interval: 5 })
      .toBeGreaterThanOrEqual(count);
  };
  const full = Array.from({ length: maxFollowing.call + 2 }, () => bodyOf({ callId: 'call-1' }));
  await deliverAll(receiver, full);
  await untilWaiting(1);
  const before = looks;
  for (let index = 0; index < 20; index += 1) {
    await send();
    await untilWaiting(2 + index);
  }
  expect(looks - before).toBeLessThan(5);
  gate.open();
});

test.skipIf(isOnPostgres)(
  'a delivery of a call that another process works on does not scan all due runs of it',
  async () => {
    const database = temporaryDatabase();
    const gate = new Gate();
    const clock = new ManualClock();
    const handled: string[] = [];
    const handle = async ({ traceId }: { readonly traceId: string }) => {
      if (traceId === 'held') await gate.pass();
      handled.push(traceId);
    };
    const send = (receiver: Receiver, traceId: string) => {
      const body = bodyOf({ traceId, callId: 'call-1' });
      return deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    };
    const earlier = await started({ database, clock }, (r) =>
      r.on('*', { name: 'handler' }, handle).on('*', { name: 'other' }, () => {
        throw new RetryLater(1);
      }),
    );
    await send(earlier.receiver, 'earlier');
    await earlier.logs.until('run_done');
    await earlier.logs.until('run_retry');
    await earlier.receiver.stop();
    const first = await started({ database, clock }, (r) =>
      r.on('*', { name: 'handler', timeout: '1h' }, handle),
    );
    await send(first.receiver, 'held');
    await gate.reached;
    clock.advance(1);
    let looks = 0;
    const store = storeAround(database, clock, (method, work) =>
      method === 'claimRuns'
        ? (...given) => {
            looks += 1;
            return work(...given);
          }
        : undefined,
    );
    // The first process has no such handler, and leaves the run alone.
    const second = await started({ database: store, clock }, (r) =>
      r.on('*', { name: 'handler' }, handle).on('Another.Event', { name: 'other' }, handle),
    );
    await expect.poll(() => looks).toBeGreaterThan(0);
    const before = looks;
    for (let index = 0; index < 20; index += 1) {
      expect((await send(second.receiver, `trace-${index}`)).status).toBe(200);
      for (let turns = 0; turns < 20; turns += 1) await turn();
    }
    expect(looks - before).toBeLessThan(5);
    gate.open();
    // The earlier one, by both handlers, the one that was held, and what came to the second process.
    while (handled.length < 23) {
      clock.advance(500);
      await turn();
    }
  },
);

test('while a handler hangs, the end of a run of another does not look into the inbox each time', async () => {
  let looks = 0;
  const clock = new ManualClock();
  const database = storeAround(':memory:', clock, (method, work) => {
    if (method !== 'claimEvents') return undefined;
    return (...given) => {
      looks += 1;
      return work(...given);
    };
  });
  const gate = new Gate();
  const { receiver, logs } = await started({ clock, database }, (r) =>
    r
      .on('Of.hanging', { name: 'hanging', timeout: '1h' }, gate.pass)
      .on('Of.healthy', { name: 'healthy' }, () => {}),
  );
  const bodies = Array.from({ length: 600 }, (_, index) =>
    bodyOf({ traceId: `hanging-${index}`, eventName: 'Of.hanging', callId: `call-${index}` }),
  );
  await deliverAll(receiver, bodies);
  await gate.reached;
  const before = looks;
  // Has it look for work.
  await receiver.handlers.pause('healthy');
  await receiver.handlers.resume('healthy');
  await expect.poll(() => looks).toBeGreaterThan(before);
  for (let turns = 0; turns < 50; turns += 1) await turn();
  looks = 0;
  for (let index = 0; index < 50; index += 1) {
    await deliver(receiver, bodyOf({ traceId: `healthy-${index}`, eventName: 'Of.healthy' }));
    await logs.until('run_done', index + 1);
  }
  expect(looks).toBeLessThan(10);
  gate.open();
});
