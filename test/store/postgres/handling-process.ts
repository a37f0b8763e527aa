/**
 * A receiver on Postgres in a process of its own, with a handler of each order, at the place in its argument. It prints where it
 * listens, and each attempt of a handler. Asked to end, it ends the runs that have begun, and says so.
 */
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { createReceiver } from '../../../src/index.ts';
import { postgres } from '../../../src/store/postgres/index.ts';
import { secret } from '../../support/deliveries.ts';
import { clockWithoutWriteTimeout } from '../../support/clock-without-write-timeout.ts';
import { serverWithoutIdleTimeout } from '../../support/server-without-idle-timeout.ts';
import { type Attempt, type Place, orders } from './handling-fleet.ts';

const { connectionString, schema } = JSON.parse(process.argv[2] ?? '') as Place;
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
/** A time that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint());

const receiver = createReceiver({
  secrets: secret,
  database: postgres({ connectionString, schema }),
  // It never answers 503 because the machine is slow, so that each delivery is sent once.
  clock: clockWithoutWriteTimeout,
  https: { required: false },
  logger: { level: 'error' },
});
for (const order of orders) {
  const options = { name: order, order, retry: { base: 0 } };
  receiver.on('*', options, async ({ traceId, callId = '' }, { attempt }) => {
    const began = now();
    // One event in sixteen fails at first, for each handler others.
    const failed = attempt === 1 && traceId.endsWith(String(orders.indexOf(order)));
    for (let turned = 0; turned < 20; turned += 1) await turn();
    const made: Attempt = { order, traceId, callId, began, ended: now(), failed };
    say({ attempt: made });
    if (failed) throw new Error('It fails at first.');
  });
}
await receiver.start();

const server = serverWithoutIdleTimeout(receiver.nodeHandler()).listen(0, '127.0.0.1', () => {
  say({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks` });
});
// On a busy machine, a sender may use a connection again after a pause in which it would be closed.
server.keepAliveTimeout = 0;

async function stop(): Promise<void> {
  server.close();
  server.closeAllConnections();
  await receiver.stop();
  say({ stopped: true });
}
process.once('SIGTERM', () => void stop());
