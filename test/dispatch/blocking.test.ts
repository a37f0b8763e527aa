import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

/** What is logged about a handler that takes so many milliseconds before, and after, its first `await`. */
async function loggedAbout({ before, after }: { before: number; after: number }) {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock }, (r) =>
    r.on('*', { name: 'compute' }, async () => {
      clock.advance(before);
      await Promise.resolve();
      clock.advance(after);
    }),
  );
  await deliver(receiver);
  await logs.until('run_done');
  return logs.of('handler_blocking');
}

test('a handler that blocks the event loop for a quarter of a second is named', async () => {
  expect(await loggedAbout({ before: 250, after: 0 })).toMatchObject([
    { level: 40, handler: 'compute', duration: 250 },
  ]);
});

test('a handler is not named for less, or for the time that it waits', async () => {
  expect(await loggedAbout({ before: 249, after: 10_000 })).toEqual([]);
});

test('a handler that blocks for as long within its commit is named', async () => {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock }, (r) =>
    r.on('*', { name: 'compute' }, (_event, { commit }) => commit(() => clock.advance(250))),
  );
  await deliver(receiver);
  await logs.until('run_done');
  expect(logs.of('handler_blocking')).toMatchObject([{ handler: 'compute', duration: 250 }]);
});
