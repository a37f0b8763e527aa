import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const present = Date.now();

test(
  'retries continue where the clock of each boot begins in 1970 and is set after the start',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const boot = async (start: number) => {
      const clock = new ManualClock(start);
      const { receiver, logs } = await started({ database, clock }, (r) =>
        r.on('*', { name: 'late' }, (_event, { attempt }) => {
          if (attempt < 4) throw new RetryLater('10s');
        }),
      );
      // A time server sets the clock to the present.
      clock.setWallClock(present - start);
      return { clock, receiver, logs };
    };
    const first = await boot(present);
    for (const traceId of ['before', 'also-before']) {
      const body = bodyOf({ traceId });
      await deliver(first.receiver, body, signedHeaders(body, { timestamp: first.clock.now() }));
    }
    await first.logs.until('run_retry', 2);
    await first.receiver.stop();

    const second = await boot(0);
    await second.clock.runUntil(second.logs.until('run_retry', 2));
    await second.receiver.stop();

    const third = await boot(0);
    const body = bodyOf({ traceId: 'after' });
    await deliver(third.receiver, body, signedHeaders(body, { timestamp: third.clock.now() }));
    await third.clock.runUntil(third.logs.until('run_done', 3));
    await third.receiver.events.replay({ traceId: 'after' });
    await third.clock.runUntil(third.logs.until('run_done', 4));
    expect((await third.receiver.counts()).events).toEqual({ new: 0, open: 0, done: 3 });
  },
);

test('time that passes while no process runs counts, if the clock kept running', async () => {
  const database = temporaryDatabase();
  const boot = (clock: ManualClock) =>
    started({ database, clock }, (r) =>
      r.on('*', { name: 'late' }, (_event, { attempt }) => {
        if (attempt === 1) throw new RetryLater('10s');
      }),
    );
  const first = await boot(new ManualClock(present));
  await deliver(first.receiver);
  await first.logs.until('run_retry');
  await first.receiver.stop();
  const second = await boot(new ManualClock(present + 10_000));
  // Its clock is blocked.
  await second.logs.until('run_done');
});
