/** Runs that were stored while their handler had one order, and begin when it has another. */
import { describe, expect, test } from 'vitest';
import { deliver } from '../support/deliveries.ts';
import type { Order } from '../support/public.ts';
import { type Started, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { eventOf } from './one-call.ts';

/** Starts a receiver whose handler notes the events that it sees; with `fails`, it fails for the first event. */
async function noting(
  database: string,
  order: Order,
  { fails = false } = {},
): Promise<Started & { seen: string[] }> {
  const seen: string[] = [];
  const parts = await started({ database }, (r) =>
    r.on('*', { name: 'noting', order, retry: { base: '100d', cap: '100d' } }, ({ traceId }) => {
      if (fails && traceId === 'first') throw new Error('not yet');
      seen.push(traceId);
    }),
  );
  return { ...parts, seen };
}

/** An inbox in which two events wait for a first one that has failed. */
async function withBlockedRuns(): Promise<string> {
  const database = temporaryDatabase();
  const { receiver, logs } = await noting(database, 'strict', { fails: true });
  await deliver(receiver, eventOf('first'));
  await logs.until('run_retry');
  for (const traceId of ['second', 'third']) await deliver(receiver, eventOf(traceId));
  while ((await receiver.counts()).runs.blocked < 2) await new Promise(setImmediate);
  await receiver.stop({ drain: 0 });
  return database;
}

describe("what order 'strict' has blocked", () => {
  test.each(['call', 'none'] as const)('is run when the order has become %s', async (order) => {
    const { receiver, logs, seen } = await noting(await withBlockedRuns(), order);
    await logs.until('run_done', 2);
    expect(seen).toEqual(['second', 'third']);
    await deliver(receiver, eventOf('fourth'));
    await logs.until('run_done', 3);
    expect(seen).toEqual(['second', 'third', 'fourth']);
    expect((await receiver.counts()).runs).toMatchObject({ due: 1, blocked: 0 });
  });

  test('stays blocked while the order is the same', { tags: 'long' }, async () => {
    const { receiver, seen } = await noting(await withBlockedRuns(), 'strict');
    await deliver(receiver, eventOf('fourth'));
    while ((await receiver.counts()).runs.blocked < 3) await new Promise(setImmediate);
    expect(seen).toEqual([]);
  });
});
