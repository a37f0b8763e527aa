/** What a process claims, in which order, and when it looks for more. */
import { expect, test } from 'vitest';
import { heartbeatInterval } from '../../src/store/timeouts.ts';
import { eventOf as recordOf, record } from '../store/parts.ts';
import { ManualClock } from '../support/clock.ts';
import { deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { withStore } from '../support/inbox.ts';
import { RetryLater } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { eventOf } from './one-call.ts';

test('what one claim leaves in the inbox is claimed by the next, without a pause', async () => {
  const [clock, database] = [new ManualClock(), temporaryDatabase()];
  // Without handlers nothing is claimed.
  const before = made({ clock, database });
  await before.receiver.start();
  const traceIds = ['first', 'second', 'third'];
  for (const traceId of traceIds) await deliver(before.receiver, eventOf(traceId));
  await before.receiver.stop();
  const oneByOne = storeAround(database, clock, (method, work) =>
    method === 'claimEvents' ? () => work(1) : undefined,
  );
  const seen: string[] = [];
  const { logs } = await started({ clock, database: oneByOne }, (r) =>
    r.on('*', ({ traceId }) => void seen.push(traceId)),
  );
  await logs.until('run_done', 3);
  expect(seen).toEqual(traceIds);
});

test('what a heartbeat takes over is claimed at once, although the store does not report it as new work', async () => {
  const [clock, database] = [new ManualClock(), temporaryDatabase()];
  let heartbeats = 0;
  const store = storeAround(database, clock, (method, work) => {
    // The function that ends the subscription.
    if (method === 'subscribe') return (() => () => {}) as unknown as typeof work;
    if (method !== 'keepAlive') return undefined;
    return async (...given) => {
      heartbeats += 1;
      if (heartbeats !== 2) return work(...given);
      await withStore(database, (other) => record(other, recordOf('taken over')));
      return { takenOver: 1 };
    };
  });
  const { logs } = await started({ clock, database: store }, (r) => r.on('*', () => {}));
  await clock.timer(heartbeatInterval);
  clock.advance(heartbeatInterval);
  expect(await logs.until('run_done')).toMatchObject([{ traceId: 'taken over' }]);
});

test('runs that become due while others look in vain are looked for again at once', async () => {
  const clock = new ManualClock();
  const looking = new Gate();
  let looks = 0;
  const store = storeAround(':memory:', clock, (method, work) =>
    method === 'claimRuns'
      ? async (...given) => {
          looks += 1;
          if (looks > 1) return work(...given);
          await looking.pass();
          // As if another process worked on the call.
          return [];
        }
      : undefined,
  );
  const { receiver, logs } = await started({ clock, database: store }, (r) =>
    r
      .on('*', { name: 'retried' }, (_event, { attempt }) => {
        if (attempt === 1) throw new RetryLater(0);
      })
      .on('Another.Event', { name: 'paused' }, () => {}),
  );
  await receiver.handlers.pause('paused');
  await deliver(receiver);
  await looking.reached;
  await receiver.handlers.resume('paused');
  looking.open();
  await logs.until('run_done');
});
