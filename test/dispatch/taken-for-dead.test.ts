import { expect, test } from 'vitest';
import { heartbeatInterval } from '../../src/store/timeouts.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

test('a process that others took for dead begins none of the runs that it had claimed before', async () => {
  const [database, clock] = [temporaryDatabase(), new ManualClock()];
  const gate = new Gate();
  const begun: string[] = [];
  const { receiver, logs } = await started({ database, clock }, (r) =>
    r.on('*', { name: 'handler', concurrency: 1 }, async ({ traceId }) => {
      begun.push(traceId);
      await gate.pass();
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'active', callId: 'call-1' }));
  await gate.reached;
  await deliver(receiver, bodyOf({ traceId: 'next of its call', callId: 'call-1' }));
  await deliver(receiver, bodyOf({ traceId: 'of another', callId: 'call-2' }));

  // Its clock stands still, as if it were suspended.
  const longAgo = "update processes set heartbeat_at = heartbeat_at - interval '1 hour'";
  if (isOnPostgres) await rowsIn(database, longAgo);
  const clockOfOther = new ManualClock();
  const handled: string[] = [];
  await started({ database, clock: clockOfOther }, (r) =>
    r.on('*', { name: 'handler' }, ({ traceId }) => void handled.push(traceId)),
  );
  for (let heartbeats = 0; heartbeats < 4; heartbeats += 1) {
    await clockOfOther.timer(heartbeatInterval);
    clockOfOther.advance(heartbeatInterval);
  }
  await expect.poll(() => handled.toSorted()).toEqual(['active', 'next of its call', 'of another']);

  clock.advance(heartbeatInterval);
  const hasEnteredAgain = async () => (await receiver.handlers.list()).processes.some(({ isThis }) => isThis);
  await expect.poll(hasEnteredAgain).toBe(true);
  gate.open();
  await logs.until('run_lost', 3);
  expect(begun).toEqual(['active']);
});
