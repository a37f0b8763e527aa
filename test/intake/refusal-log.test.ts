import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { faultyStore } from '../faults/faulty-store.ts';
import { bodyOf, deliver, deliveryOf, signedHeaders, otherSecret } from '../support/deliveries.ts';
import type { Line } from '../support/logs.ts';
import type { ReceiverOptions } from '../support/public.ts';
import { started, stopped } from '../support/receiver.ts';

const forgery = '{"traceId":"forged"}';
const forged = signedHeaders(forgery, { secrets: otherSecret });
const unsigned = { 'content-type': 'application/json' };

/** A receiver with a manual clock, and functions that send forgeries and read what was logged of them. */
async function attacked() {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock, signature: 't-v1-hex-whole' });
  const send = async (count: number, headers: Record<string, string> = forged) => {
    for (let index = 0; index < count; index += 1) await deliver(receiver, forgery, headers);
  };
  return { receiver, clock, send, refused: () => logs.of('delivery_refused') };
}

const countOf = (line: Line) => (line['count'] as number | undefined) ?? 1;
const sumOf = (lines: readonly Line[]) => lines.reduce((sum, line) => sum + countOf(line), 0);

describe('the lines of refused deliveries', () => {
  test('are bounded, and their counts add up', { tags: 'long' }, async () => {
    const { receiver, clock, send, refused } = await attacked();
    for (let second = 0; second < 10; second += 1) {
      await send(1_000);
      clock.advance(1_000);
    }
    expect(sumOf(refused())).toBe(10_000);
    expect(refused()).toHaveLength(10 * (5 + 1));
    expect(refused().filter((line) => 'count' in line)).toMatchObject(
      Array.from({ length: 10 }, () => ({
        code: 'not_authentic',
        reason: 'signature_mismatch',
        count: 995,
      })),
    );
    await send(7);
    await stopped(receiver, clock);
    expect(sumOf(refused())).toBe(10_007);
    expect(refused().at(-1)).toMatchObject({ reason: 'signature_mismatch', count: 2 });
  });

  test('are each in full while there are few', async () => {
    const { clock, send, refused } = await attacked();
    for (let second = 0; second < 3; second += 1) {
      await send(5);
      clock.advance(1_000);
    }
    expect(refused()).toHaveLength(15);
    expect(refused().every((line) => 'quarantineId' in line && !('count' in line))).toBe(true);
  });

  test('are counted for each reason by itself', async () => {
    const { clock, send, refused } = await attacked();
    await send(8);
    await send(6, unsigned);
    clock.advance(1_000);
    expect(refused().filter((line) => 'count' in line)).toMatchObject([
      { reason: 'signature_mismatch', count: 3 },
      { reason: 'signature_missing', count: 1 },
    ]);
  });

  test('are all published', async () => {
    const { clock, send } = await attacked();
    const published: unknown[] = [];
    const take = (line: unknown) => void published.push(line);
    subscribe('ringback.delivery_refused', take);
    onTestFinished(() => void unsubscribe('ringback.delivery_refused', take));
    await send(50);
    clock.advance(1_000);
    expect(published).toHaveLength(50);
    expect(published.at(-1)).toMatchObject({ event: 'delivery_refused', code: 'not_authentic' });
  });
});

test('the lines of copies of a delivery are bounded, and all are published', async () => {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock, signature: 't-v1-hex-whole' });
  const events = ['delivery_duplicate', 'delivery_quarantined', 'trace_id_differs'] as const;
  const published: unknown[] = [];
  const take = (line: unknown) => void published.push((line as Line).event);
  for (const event of events) {
    subscribe(`ringback.${event}`, take);
    onTestFinished(() => void unsubscribe(`ringback.${event}`, take));
  }
  const body = bodyOf({ traceId: 'trace-1' });
  const headers = { ...signedHeaders(body), 'x-webhook-traceid': 'trace-2' };
  for (let copy = 0; copy < 21; copy += 1) {
    await deliver(receiver, body, headers);
    await deliver(receiver, 'not json');
  }
  await stopped(receiver, clock);
  const counts = events.map((event) => logs.of(event).map(({ count }) => count));
  const few = Array.from({ length: 5 });
  expect(counts).toEqual([
    [...few, 15],
    [...few, 16],
    [...few, 16],
  ]);
  expect(events.map((event) => published.filter((each) => each === event).length)).toEqual([20, 21, 21]);
});

const clock = new ManualClock();
const broken = {
  createStore: () => faultyStore(':memory:', clock, (method) => (method === 'record' ? 'before' : undefined)),
};
const trustProxy = () => {
  throw new Error('the proxies are not known yet');
};

test.each<[string, ReceiverOptions, string]>([
  ['at which a function of the app throws', { https: { trustProxy } }, 'the proxies are not known yet'],
  ['that can not be stored', { database: broken, https: { required: false } }, 'record broke at call 1'],
])('the lines of deliveries %s are bounded, and all are published', async (_, options, cause) => {
  const { receiver, logs } = await started({ clock, ...options });
  const published: unknown[] = [];
  const take = (line: unknown) => void published.push(line);
  subscribe('ringback.delivery_failed', take);
  onTestFinished(() => void unsubscribe('ringback.delivery_failed', take));
  for (let sent = 0; sent < 21; sent += 1) {
    const { status } = await receiver.take(deliveryOf({ encrypted: false }));
    expect(status).toBe(503);
  }
  await stopped(receiver, clock);
  expect(published).toHaveLength(21);
  const failed = logs.of('delivery_failed');
  expect(failed[0]).toMatchObject({ cause });
  expect(failed.map(({ count }) => count)).toEqual([...Array.from({ length: 5 }), 16]);
});
