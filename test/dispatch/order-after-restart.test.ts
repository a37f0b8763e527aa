/** Events that were in a process's memory run before those that found no room there, also in the next process. */
import { expect, test } from 'vitest';
import { deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Order } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { eventOf } from './one-call.ts';

/** More events than may wait in memory behind a run of their call. */
const counts: readonly [Order, number][] = [
  ['strict', 260],
  ['call', 2_010],
];

test.each(counts)('order %s: %i events of a call, most of which were in memory', async (order, count) => {
  const database = temporaryDatabase();
  const gate = new Gate();
  const seen: number[] = [];
  const places = Array.from({ length: count }, (_, place) => place);
  const one = await started({ database }, (r) =>
    r.on('*', { name: 'seeing', order }, async ({ traceId }) => {
      await gate.pass();
      seen.push(Number(traceId));
    }),
  );
  for (const place of places) await deliver(one.receiver, eventOf(String(place)));
  const stopping = one.receiver.stop();
  gate.open();
  await stopping;
  expect(seen).toEqual([0]);
  const next = await started({ database }, (r) =>
    r.on('*', { name: 'seeing', order }, ({ traceId }) => void seen.push(Number(traceId))),
  );
  await next.logs.until('run_done', count - 1);
  expect(seen).toEqual(places);
});
