/** An event that is claimed by the write that records it: after which events, and when, its handlers run. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { poisonEvents } from '../store/crash-counts.ts';
import { turn } from '../support/clock.ts';
import { address, bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { started } from '../support/receiver.ts';
import { type Work, storeAround } from '../support/store-around.ts';
import { deliverOthers, eventOf, maxWaiting, orders, traceIdOf } from './one-call.ts';

/** Why the earlier event takes longer than the later one. */
const delays = ['its body is large', 'a process has died over it'] as const;

const variants = orders.flatMap((order) => delays.map((delay) => ({ order, delay })));

test.each(variants)(
  'an earlier event of the call is still being read: order $order, $delay',
  async ({ order, delay }) => {
    const claimed = new Gate();
    const seen: string[] = [];
    const around = (method: string, work: Work): Work | undefined => {
      // The first event waits in the inbox until it is claimed.
      if (method === 'record')
        return (record, mayClaim) => work(record, mayClaim && traceIdOf(record) !== 'first');
      if (method !== 'claimEvents') return undefined;
      return (...given) => {
        const claiming = work(...given) as Promise<readonly unknown[]>;
        void claiming.then((events) => void (events.length > 0 && claimed.pass()));
        return claiming;
      };
    };
    const database = storeAround(':memory:', systemClock, around);
    const { receiver, logs } = await started({ database }, (r) => {
      if (delay === 'a process has died over it') poisonEvents(r, 1, 'when new.sequence = 1');
      r.on('*', { order }, ({ traceId }) => void seen.push(traceId));
    });
    const pad = 'x'.repeat(delay === 'its body is large' ? 100_000 : 0);
    await deliver(receiver, eventOf('first', { pad }));
    await claimed.reached;
    await deliver(receiver, eventOf('second'));
    await logs.until('run_done', 2);
    expect(seen).toEqual(['first', 'second']);
  },
);

test('an event of a call does not overtake the second of two that are read before it', async () => {
  const gates = { first: new Gate(), second: new Gate() };
  const seen: string[] = [];
  const around = (method: string, work: Work): Work | undefined => {
    // The first two wait in the inbox until they are claimed.
    if (method === 'record')
      return (record, mayClaim) => work(record, mayClaim && traceIdOf(record) === 'third');
    if (method !== 'beginReading') return undefined;
    return async (claimed) => {
      // Not where it is read for its run.
      if (!Object.hasOwn(claimed as object, 'handler'))
        await gates[traceIdOf(claimed) as keyof typeof gates].pass();
      return work(claimed);
    };
  };
  const database = storeAround(':memory:', systemClock, around);
  const { receiver, logs } = await started({ database }, (r) => {
    poisonEvents(r, 1);
    r.on('*', ({ traceId }) => void seen.push(traceId));
  });
  await deliver(receiver, eventOf('first'));
  await gates.first.reached;
  await deliver(receiver, eventOf('second'));
  const claims = receiver.database.prepare('select count(*) as claimed from claims');
  await expect.poll(() => claims.get()).toEqual({ claimed: 2 });
  for (let turns = 0; turns < 20; turns += 1) await turn();
  gates.first.open();
  await gates.second.reached;
  await deliver(receiver, eventOf('third'));
  for (let turns = 0; turns < 20; turns += 1) await turn();
  gates.second.open();
  await logs.until('run_done', 3);
  expect(seen).toEqual(['first', 'second', 'third']);
});

test('a run that has ended takes no room while its end is written', { tags: 'long' }, async () => {
  const [end, all] = [new Gate(), new Gate()];
  const around = (method: string, work: Work): Work | undefined =>
    method !== 'settle'
      ? undefined
      : async (...given) => {
          await end.pass();
          return work(...given);
        };
  const database = storeAround(':memory:', systemClock, around);
  let runs = 0;
  const { receiver, logs } = await started({ database }, (r) =>
    r.on('*', () => {
      runs += 1;
      if (runs === maxWaiting + 1) void all.pass();
    }),
  );
  await deliverOthers(receiver, maxWaiting + 1);
  await all.reached;
  end.open();
  await logs.until('run_done', maxWaiting + 1);
});

test('a handler runs after the answer to its event', async () => {
  const seen: string[] = [];
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', ({ traceId }) => void seen.push(`handled ${traceId}`)),
  );
  // The first event of an inbox pins the scheme, and is answered when that is written.
  await deliver(receiver, bodyOf());
  await logs.until('run_done', 1);
  seen.length = 0;
  const traceIds = ['one', 'two', 'three'];
  const answer = async (traceId: string): Promise<void> => {
    const body = bodyOf({ traceId });
    await receiver.fetch(new Request(address, { method: 'POST', headers: signedHeaders(body), body }));
    seen.push(`answered ${traceId}`);
  };
  await Promise.all(traceIds.map(answer));
  await logs.until('run_done', 1 + traceIds.length);
  for (const traceId of traceIds) {
    expect(seen.filter((step) => step.endsWith(traceId))).toEqual([
      `answered ${traceId}`,
      `handled ${traceId}`,
    ]);
  }
});
