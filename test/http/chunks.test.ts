import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { bodyOf, deliveryOf } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

test('the chunks of a body are copied and let go: byte by byte it takes no more memory than its bytes', async () => {
  const { receiver } = await started();
  const body = bodyOf();
  const stream = new PassThrough();
  const answering = receiver.take(deliveryOf({ body, source: { kind: 'stream', stream } }));
  // One chunk for all bytes: whoever kept it would find the last byte everywhere.
  const chunk = Buffer.alloc(1);
  for (const byte of Buffer.from(body)) {
    chunk[0] = byte;
    stream.emit('data', chunk);
  }
  stream.end();
  expect((await answering).status).toBe(200);
});
