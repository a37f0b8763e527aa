/** A receiver with the logger that it has by default, whose output takes nothing; what came of it goes to stderr. */
import { createReceiver } from '../../src/index.ts';
import { buildDelivery, deliver, handled, testSecret } from '../../src/testing/index.ts';

const receiver = createReceiver({ secrets: testSecret, database: ':memory:' });
receiver.on('*', { name: 'handler' }, () => {});
await receiver.start();
const statuses: number[] = [];
for (const traceId of ['trace-1', 'trace-2']) {
  statuses.push((await deliver(receiver, buildDelivery('call-ended', { traceId }))).status);
  await handled(receiver, traceId);
}
const { events } = await receiver.counts();
await receiver.stop();
process.stderr.write(`${statuses.join(' ')} done: ${events.done}`);
process.exit(0);
