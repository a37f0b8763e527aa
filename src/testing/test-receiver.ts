import type { ReceiverOptions } from '../options.ts';
import { type Receiver, createReceiver } from '../receiver.ts';
import { testSecret } from './delivery.ts';

/**
 * A receiver for tests: its inbox is in memory, its secret is `testSecret`, it takes plain HTTP and logs nothing.
 * Every option of `createReceiver` can be given and goes first. Register handlers, then `await start()`.
 *
 * @example
 * const receiver = testReceiver();
 * app(receiver);
 * await receiver.start();
 */
export function testReceiver(options: ReceiverOptions = {}): Receiver {
  return createReceiver({
    secrets: testSecret,
    database: ':memory:',
    https: { required: false },
    logger: { level: 'silent' },
    ...options,
  });
}
