import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HmacKey } from '../../src/signature/hmac.ts';

/** Keys around the block sizes of the hashes: a longer key is itself hashed. */
const keys = fc
  .constantFrom(1, 44, 63, 64, 65, 127, 128, 129, 300)
  .chain((size) => fc.uint8Array({ minLength: size, maxLength: size }))
  .map((made) => Buffer.from(made));
/** Short bodies, and bodies around the size from which the digest is computed in another way. */
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.integer({ min: 16_380, max: 16_390 }).map((size) => Buffer.alloc(size, 'b')),
);

test('digests are those of node:crypto, whatever the key, the texts and the body', () => {
  const hashes = fc.constantFrom('sha256', 'sha512');
  fc.assert(
    fc.property(hashes, keys, fc.string(), bodies, fc.string(), (hash, key, before, body, after) => {
      const expected = createHmac(hash, key).update(before).update(body).update(after).digest();
      expect(new HmacKey(key).digest(hash, before, body, after)).toEqual(expected);
    }),
  );
});

test('a digest does not change with those that come after it', () => {
  const key = new HmacKey(Buffer.from('key'));
  const first = key.digest('sha256', '', Buffer.from('one'), '');
  const copy = Buffer.from(first);
  key.digest('sha256', '', Buffer.from('two'), '');
  expect(first).toEqual(copy);
});
