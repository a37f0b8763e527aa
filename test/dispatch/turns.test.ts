/** Handlers that compute leave turns of the event loop to deliveries and to the app. */
import { expect, onTestFinished, test } from 'vitest';
import { buildDelivery, deliver, manualClock, testReceiver } from '../../src/testing/index.ts';
import { turn as turnOver } from '../support/clock.ts';
import { inboxOf } from '../support/inbox.ts';
import { RetryLater } from '../support/public.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { whenHandled } from '../support/when-handled.ts';

const names = ['first', 'second', 'third', 'fourth', 'fifth'];

/** Counts the turns of the event loop until the test ends. */
function countTurns(): () => number {
  let turns = 0;
  let timer = setImmediate(function next() {
    turns += 1;
    timer = setImmediate(next);
  });
  onTestFinished(() => clearImmediate(timer));
  return () => turns;
}

test.for([
  ['for 20 ms each are called in a turn each', 20, 5],
  ['for a moment only are called in one turn', 0, 1],
] as const)('handlers that compute %s', async ([, milliseconds, expected]) => {
  const clock = manualClock();
  const turn = countTurns();
  const turns: number[] = [];
  const receiver = testReceiver({ clock });
  for (const name of names) {
    receiver.on('*', { name }, () => {
      turns.push(turn());
      clock.advance(milliseconds);
    });
  }
  onTestFinished(() => receiver.stop());
  await receiver.start();
  await deliver(receiver, buildDelivery('call-ended', { traceId: 't-1', timestamp: clock.now() }));
  await whenHandled(receiver, 't-1');
  expect(turns).toHaveLength(5);
  expect(new Set(turns).size).toBe(expected);
});

test('retries that block are called in separate turns of the event loop, as first attempts are', async () => {
  const clock = manualClock();
  const turn = countTurns();
  const turns: number[] = [];
  const receiver = testReceiver({ clock });
  receiver.on('*', (_event, { attempt }) => {
    if (attempt === 1) throw new RetryLater('1m');
    turns.push(turn());
    clock.advance(20);
  });
  onTestFinished(() => receiver.stop());
  await receiver.start();
  const deliveries = names.map((name) =>
    buildDelivery('call-ended', { traceId: name, callId: name, timestamp: clock.now() }),
  );
  for (const delivery of deliveries) await deliver(receiver, delivery);
  while ((await receiver.counts()).runs.due < names.length) await turnOver();
  clock.advance('1m');
  for (const name of names) await whenHandled(receiver, name);
  expect(turns).toHaveLength(names.length);
  expect(new Set(turns).size).toBe(names.length);
});

test('a run that waits for its turn when the receiver stops is left to the next start', async () => {
  const clock = manualClock();
  const database = temporaryDatabase();
  const seen: string[] = [];
  const stopping = Promise.withResolvers<void>();
  const first = testReceiver({ clock, database: inboxOf(database) });
  const second = testReceiver({ clock, database: inboxOf(database) });
  for (const name of names) {
    first.on('*', { name }, () => {
      seen.push(name);
      clock.advance(20);
      stopping.resolve(first.stop({ drain: 0 }));
    });
    second.on('*', { name }, () => void seen.push(name));
  }
  await first.start();
  await deliver(first, buildDelivery('call-ended', { traceId: 't-1', timestamp: clock.now() }));
  await stopping.promise;
  expect(seen).toEqual(['first']);
  onTestFinished(() => second.stop());
  await second.start();
  await whenHandled(second, 't-1');
  expect(seen.toSorted()).toEqual(names.toSorted());
});

test('no retry is counted whose handler is not called yet, since a process that dies would use up its attempt', async () => {
  const clock = manualClock();
  let counted: unknown;
  // Otherwise the wait of one run in a thousand is less than a millisecond, and it is retried at once.
  const random = () => 0.5;
  const receiver = testReceiver({ clock, random }).on('*', { name: 'compute' }, (_event, { attempt }) => {
    if (attempt === 1) throw new Error('not yet');
    counted ??= receiver.database.prepare('select count(*) as runs from runs where attempts > 1').get();
  });
  onTestFinished(() => receiver.stop());
  await receiver.start();
  const traceIds = Array.from({ length: 12 }, (_, index) => `t-${index}`);
  for (const traceId of traceIds) {
    await deliver(
      receiver,
      buildDelivery('call-ended', { traceId, callId: traceId, timestamp: clock.now() }),
    );
  }
  const dueRuns = async () => (await receiver.counts()).runs.due;
  await expect.poll(dueRuns).toBe(12);
  clock.advance('1m');
  for (const traceId of traceIds) await whenHandled(receiver, traceId);
  expect(counted).toEqual({ runs: 0 });
});
