/** While a database is down, nothing asks it again and again: each try is a connection that it has to refuse. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { postgres } from '../../src/store/postgres/index.ts';
import { storePause } from '../../src/store/timeouts.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Logs } from '../support/logs.ts';
import { behindProxy, testDatabase } from '../support/postgres.ts';
import { createReceiver } from '../support/public.ts';
import { deliverUntilTaken } from '../support/receiver.ts';

/** Nobody listens there. */
const closed = 1;

test('a database that is down is asked a few times in each pause, however long it is down', async () => {
  const { connectionString: direct, schema } = await testDatabase();
  const { proxy, connectionString } = await behindProxy(direct);
  const [logs, gate, clock] = [new Logs(), new Gate(), new ManualClock()];
  const database = postgres({ connectionString, schema });
  const receiver = createReceiver({ secrets: secret, database, clock, logger: logs.logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  receiver.on('*', () => gate.pass());
  await receiver.start();
  await deliverUntilTaken(receiver, bodyOf());
  await gate.reached;

  proxy.target = closed;
  gate.open();
  expect((await deliver(receiver, bodyOf())).status).toBe(503);
  const tries: number[] = [];
  for (let pauses = 0; pauses < 5; pauses += 1) {
    const before = proxy.attempts;
    // As long as it takes, and the receiver's clock stands still.
    for (let own = 0; own < 100; own += 1) await once(connect(proxy.port, '127.0.0.1'), 'close');
    tries.push(proxy.attempts - before - 100);
    clock.advance(storePause);
  }
  expect(Math.max(...tries)).toBeLessThan(25);

  proxy.target = Number(new URL(direct).port);
  await expect.poll(clock.passing(() => logs.of('run_done').length)).toBe(1);
});
