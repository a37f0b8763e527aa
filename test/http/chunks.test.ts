import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { bodyOf, deliveryOf } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

test('the chunks of a body are copied and released: sent byte by byte, it takes no more memory than its bytes', async () => {
  const { receiver } = await started();
  const body = bodyOf();
  const stream = new PassThrough();
  const answering = receiver.take(deliveryOf({ body, source: { kind: 'stream', stream } }));
  // The same chunk for every byte: if it were kept without a copy, the body would consist of the last byte only.
  const chunk = Buffer.alloc(1);
  for (const byte of Buffer.from(body)) {
    chunk[0] = byte;
    stream.emit('data', chunk);
  }
  stream.end();
  expect((await answering).status).toBe(200);
});
