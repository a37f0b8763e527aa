import { createHmac, createSecretKey } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestOf } from '../../src/signature/content.ts';

/** Keys around the block sizes of the hashes: a longer key is itself hashed. */
const keys = fc
  .constantFrom(1, 44, 63, 64, 65, 127, 128, 129, 300)
  .chain((size) => fc.uint8Array({ minLength: size, maxLength: size }))
  .map((made) => Buffer.from(made));
const bodies = fc.uint8Array({ maxLength: 300 });

test('digests are those of node:crypto, whatever the key, the texts and the body', () => {
  const hashes = fc.constantFrom('sha256', 'sha512');
  fc.assert(
    fc.property(hashes, keys, fc.string(), bodies, fc.string(), (hash, key, before, body, after) => {
      const expected = createHmac(hash, key).update(before).update(body).update(after).digest();
      expect(digestOf(hash, createSecretKey(key), before, body, after)).toEqual(expected);
    }),
  );
});
