/**
 * Prints how many bytes per delivery outlive small garbage collections while many deliveries come and go.
 * `bytes-left.test.ts` starts it, with the flags of `test/kit/bytes-left.ts`.
 */
import { createReceiver } from '../../src/index.ts';
import { bodyOf, deliver, secret, signedHeaders } from '../support/deliveries.ts';
import { collectGarbage, oldBytes } from '../support/old-space.ts';

const [inAtOnce, rounds] = [50, 150];

const receiver = createReceiver({ secrets: secret, database: ':memory:', logger: { level: 'error' } });
receiver.on('*', { name: 'handler' }, () => {});
await receiver.start();

/** Lets deliveries come, always as many at once. */
async function deliverMany(): Promise<void> {
  let left = rounds * inAtOnce;
  const one = async (): Promise<void> => {
    for (; left > 0; left -= 1) {
      const body = bodyOf();
      const { status } = await deliver(receiver, body, signedHeaders(body));
      if (status !== 200) throw new Error(`answered with ${status}`);
      if (left % 500 === 0) collectGarbage('minor');
    }
  };
  await Promise.all(Array.from({ length: inAtOnce }, one));
}

await deliverMany();
collectGarbage();
const before = oldBytes();
await deliverMany();
process.stdout.write(JSON.stringify((oldBytes() - before) / (rounds * inAtOnce)));
await receiver.stop();
