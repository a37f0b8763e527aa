/** A receiver with the default logger, whose output takes nothing. The results are written to stderr. */
import { createReceiver } from '../../src/index.ts';
import { buildDelivery, deliver, handled, testSecret } from '../../src/testing/index.ts';

const receiver = createReceiver({ secrets: testSecret, database: ':memory:' });
receiver.on('*', { name: 'handler' }, () => {});
await receiver.start();
const statuses: number[] = [];
for (const traceId of ['trace-1', 'trace-2']) {
  statuses.push((await deliver(receiver, buildDelivery('call-ended', { traceId }))).status);
  await handled(receiver, traceId, { within: '10m' });
}
const { events } = await receiver.counts();
await receiver.stop();
process.stderr.write(`${statuses.join(' ')} done: ${events.done}`);
process.exit(0);
