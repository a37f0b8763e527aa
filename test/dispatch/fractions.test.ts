import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { type Clock, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';

/** What a user computes, such as a third of a second. A database that keeps whole numbers refuses it. */
const third = 1_000 / 3;

test.each([
  ['a thrown time', () => new RetryLater(third)],
  ['a time in a text', () => new RetryLater('0.3ms')],
  ['a time of another copy of the class', () => Object.assign(new RetryLater('1s'), { delay: third })],
])('%s that is no whole number of milliseconds is waited for', async (_, later) => {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock }, (r) =>
    r.on('*', (_event, { attempt }) => {
      if (attempt === 1) throw later();
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'one' }));
  await logs.until('run_retry');
  clock.advance(334);
  expect(await logs.until('run_done')).toMatchObject([{ traceId: 'one', attempt: 2 }]);
  expect(logs.of('dispatch_failed')).toEqual([]);
});

test('a join waits for a time that is no whole number of milliseconds', async () => {
  const clock = new ManualClock();
  const events = ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'];
  const { receiver, logs } = await started({ clock }, (r) =>
    r.onCall({ name: 'join', events, within: third }, () => {}),
  );
  await deliver(receiver, bodyOf({ traceId: 'one' }));
  await expect.poll(async () => (await receiver.events.get('one'))?.state).toBe('open');
  clock.advance(334);
  await logs.until('run_done');
  expect(logs.of('dispatch_failed')).toEqual([]);
});

test('a clock of fractions of a millisecond loses no delivery', async () => {
  const manual = new ManualClock();
  // As one made of performance.timeOrigin and performance.now() is.
  const clock: Clock = { now: () => manual.now() + third, elapsed: manual.elapsed, after: manual.after };
  const { receiver, logs } = await started({ clock }, (r) =>
    r.on('*', (_event, { attempt }) => {
      if (attempt === 1) throw new RetryLater(100);
    }),
  );
  const body = bodyOf();
  const answer = await deliver(receiver, body, signedHeaders(body, { timestamp: manual.now() }));
  expect(answer.status).toBe(200);
  await logs.until('run_retry');
  manual.advance(1_000);
  await logs.until('run_done');
  expect(logs.of('dispatch_failed')).toEqual([]);
});
