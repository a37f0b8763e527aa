/** What three processes claim of one inbox on Postgres while events come in at all of them: nothing twice, and in order. */
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { concurrently } from '../../support/concurrently.ts';
import { bodyOf, secret } from '../../support/deliveries.ts';
import { Logs } from '../../support/logs.ts';
import { testDatabase } from '../../support/postgres.ts';
import { createReceiver } from '../../support/public.ts';
import { deliverUntilTaken } from '../../support/receiver.ts';
import { postgres } from '../../../src/store/postgres/index.ts';

/** As many as shall be, in twos of a call. */
const events = Number(process.env['RINGBACK_TEST_CLAIMS'] ?? 600);
const orders = ['none', 'call', 'strict'] as const;
type Order = (typeof orders)[number];

/** One attempt of a handler. Times are counts, of all beginnings and ends. */
interface Attempt {
  readonly order: Order;
  readonly traceId: string;
  readonly callId: string;
  readonly began: number;
  ended: number;
  readonly failed: boolean;
}

test('nothing is claimed twice, and each order holds', async () => {
  const { connectionString, schema } = await testDatabase();
  const attempts: Attempt[] = [];
  const logs = new Logs();
  let now = 0;
  const receivers = Array.from({ length: 3 }, () => {
    const database = postgres({ connectionString, schema });
    const receiver = createReceiver({ secrets: secret, database, logger: logs.logger });
    for (const order of orders) {
      const options = { name: order, order, retry: { base: 0 } };
      receiver.on('*', options, async ({ traceId, callId = '' }, { attempt }) => {
        // One event in sixteen fails at first, for each handler others.
        const failed = attempt === 1 && traceId.endsWith(String(orders.indexOf(order)));
        const made: Attempt = { order, traceId, callId, began: (now += 1), ended: 0, failed };
        attempts.push(made);
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        made.ended = now += 1;
        if (failed) throw new Error('It fails at first.');
      });
    }
    onTestFinished(() => receiver.stop({ drain: 0 }));
    return receiver;
  });
  for (const receiver of receivers) await receiver.start();

  const calls = Array.from({ length: events / 2 }, (_, place) => place);
  await concurrently(calls, 96, async (call) => {
    // One after the other, each to another process: of two that come at the same time, either may be the first.
    for (const place of [call, call + 1]) {
      const receiver = receivers[place % 3];
      if (!receiver) throw new Error('There is no receiver.');
      await deliverUntilTaken(receiver, bodyOf({ callId: `call-${call}` }));
    }
  });
  await expect.poll(() => logs.of('run_done').length).toBe(events * orders.length);
  // What is still on its way would be done twice if it were claimed twice.
  for (const receiver of receivers) await receiver.stop();

  const { arrived, open } = await inboxIn(connectionString, schema);
  expect(arrived.size).toBe(events);
  expect(open).toBe(0);
  for (const order of orders) {
    const made = attempts.filter((attempt) => attempt.order === order);
    const succeeded = made.filter(({ failed }) => !failed);
    expect(succeeded).toHaveLength(events);
    expect(new Set(succeeded.map(({ traceId }) => traceId)).size).toBe(events);
    expect(new Set(made.map(({ traceId, failed }) => `${traceId} ${failed}`)).size).toBe(made.length);
  }
  const place = ({ traceId }: Attempt) => arrived.get(traceId) ?? 0;
  const [call, strict] = [byCall(attempts, 'call'), byCall(attempts, 'strict')];
  expect([...call, ...strict].filter(overlaps)).toEqual([]);
  expect(call.map(firstOfEach).filter((made) => !isSorted(made.map(place)))).toEqual([]);
  expect(strict.filter((made) => !isSorted(made.map(place)))).toEqual([]);
});

/** The attempts of a handler, a list for each call, in the order in which they began. */
function byCall(attempts: readonly Attempt[], order: Order): readonly Attempt[][] {
  const made = attempts.filter((attempt) => attempt.order === order);
  return [...Map.groupBy(made, ({ callId }) => callId).values()];
}

function overlaps(attempts: readonly Attempt[]): boolean {
  return attempts.some(({ began }, place) => place > 0 && began < (attempts[place - 1]?.ended ?? 0));
}

function firstOfEach(attempts: readonly Attempt[]): Attempt[] {
  return attempts.filter(
    ({ traceId }, place) => attempts.findIndex((other) => other.traceId === traceId) === place,
  );
}

function isSorted(places: readonly number[]): boolean {
  return places.every((place, index) => index === 0 || place >= (places[index - 1] ?? 0));
}

/** In which order the events arrived, by trace id, and how many of them are not done. */
async function inboxIn(connectionString: string, schema: string) {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ trace_id: string }>(
      `select trace_id from ${schema}.events order by sequence`,
    );
    const open = await client.query<{ count: number }>(
      `select ((select count(*) from ${schema}.waiting) + (select count(*) from ${schema}.claims)
         + (select count(*) from ${schema}.owned)
         + (select count(*) from ${schema}.runs where state in ('due', 'claimed', 'blocked')))::integer as count`,
    );
    return { arrived: new Map(rows.map((row, place) => [row.trace_id, place])), open: open.rows[0]?.count };
  } finally {
    await client.end();
  }
}
