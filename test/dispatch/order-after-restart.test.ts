// @module-tag long
/** Events that were in a process's memory run before those that found no room there, also in the next process. */
import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { deliver, deliverAll } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import type { Order } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { eventOf } from './one-call.ts';

/** More events than may wait in memory behind a run of their call. */
const strict: [Order, number] = ['strict', 260];
// Thousands of events are too many for a second store.
const counts: readonly [Order, number][] = isOnPostgres ? [strict] : [strict, ['call', 2_010]];

test.each(counts)('order %s: %i events of a call, most of which were in memory', async (order, count) => {
  const [database, clock] = [temporaryDatabase(), new ManualClock()];
  const gate = new Gate();
  const seen: number[] = [];
  const places = Array.from({ length: count }, (_, index) => index);
  const one = await started({ database, clock }, (r) =>
    r.on('*', { name: 'seeing', order }, async ({ traceId }) => {
      await gate.pass();
      seen.push(Number(traceId));
    }),
  );
  const [first, ...others] = places.map((index) => eventOf(String(index)));
  await deliver(one.receiver, first);
  await gate.reached;
  await deliverAll(one.receiver, others);
  const stopping = one.receiver.stop();
  gate.open();
  await stopping;
  expect(seen).toEqual([0]);
  const next = await started({ database, clock }, (r) =>
    r.on('*', { name: 'seeing', order }, ({ traceId }) => void seen.push(Number(traceId))),
  );
  // What a claim has missed, because a commit still held a lock, is looked for again after a while.
  const done = clock.passing(() => next.logs.of('run_done'));
  await expect.poll(done).toHaveLength(count - 1);
  expect(seen).toEqual(places);
});
