import { expect, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import type { RunContext } from '../support/public.ts';
import { started } from '../support/receiver.ts';

test('a context that is copied into another object keeps its logger and its signal', async () => {
  const copied = Promise.withResolvers<RunContext>();
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'copying' }, (_event, context) => copied.resolve({ ...context })),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1', callId: 'call-1' }));
  const { log, signal, attempt } = await copied.promise;
  expect([signal.aborted, attempt]).toEqual([false, 1]);
  log.info('from the copy');
  const line = logs.lines.find(({ msg }) => msg === 'from the copy');
  expect(line).toMatchObject({ traceId: 'trace-1', callId: 'call-1', handler: 'copying' });
});

test("the fallback's context makes its logger on first use, as others do", async () => {
  const made = Promise.withResolvers<boolean>();
  const { receiver } = await started({}, (r) =>
    r.fallback((_event, context) => {
      made.resolve(Object.getOwnPropertyDescriptor(context, 'log')?.get === undefined);
    }),
  );
  await deliver(receiver, bodyOf());
  expect(await made.promise).toBe(false);
});

test('a signal that is first asked for after the deadline has been reached is aborted', async () => {
  const signal = Promise.withResolvers<AbortSignal>();
  const deadline = Promise.withResolvers<void>();
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'late', timeout: '1ms', retry: { attempts: 1 } }, async (_event, context) => {
      await deadline.promise;
      signal.resolve(context.signal);
    }),
  );
  await deliver(receiver);
  await logs.until('run_dead');
  deadline.resolve();
  const { aborted, reason } = await signal.promise;
  expect([aborted, String(reason)]).toEqual([true, 'Error: deadline']);
});

test('an idempotency key is the same in each attempt and replay of a run, and another in each other run', async () => {
  const keys: Record<string, string[]> = {};
  const { receiver, logs } = await started({}, (r) => {
    for (const name of ['one', 'two'])
      r.on('*', { name, retry: { attempts: 2, base: 1 } }, (event, { attempt, replay, idempotencyKey }) => {
        (keys[`${event.traceId} ${name}`] ??= []).push(idempotencyKey);
        if (attempt === 1 && !replay) throw new Error('not yet');
      });
  });
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await deliver(receiver, bodyOf({ traceId: 'trace-2' }));
  await logs.until('run_done', 4);
  await receiver.events.replay({ handler: 'one', traceId: 'trace-1' });
  await logs.until('run_done', 5);
  expect(Object.values(keys).map(({ length }) => length)).toEqual([3, 2, 2, 2]);
  const distinct = Object.values(keys).map((of) => new Set(of));
  expect(distinct.every(({ size }) => size === 1)).toBe(true);
  expect(new Set(Object.values(keys).flat()).size).toBe(4);
  expect(keys['trace-1 one']?.[0]).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

test("a join's idempotency key is that of its call: the same after a late event, and in a replay of any of its events", async () => {
  const keys: string[] = [];
  const { receiver, logs } = await started({}, (r) =>
    r.onCall({ name: 'one', events: ['First', 'Second'], within: '1ms' }, (call, { idempotencyKey }) => {
      keys.push(`${call.callId} ${idempotencyKey}`);
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1', callId: 'call-1', eventName: 'First' }));
  await logs.until('run_done');
  await deliver(receiver, bodyOf({ traceId: 'trace-2', callId: 'call-1', eventName: 'Second' }));
  await logs.until('run_done', 2);
  await receiver.events.replay({ traceId: 'trace-2' });
  await logs.until('run_done', 3);
  expect(keys.length).toBe(3);
  expect(new Set(keys).size).toBe(1);
  await deliver(receiver, bodyOf({ traceId: 'trace-3', callId: 'call-2', eventName: 'First' }));
  await logs.until('run_done', 4);
  expect(new Set(keys.map((key) => key.split(' ').at(1))).size).toBe(2);
});
