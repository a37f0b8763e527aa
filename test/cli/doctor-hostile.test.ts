import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { finding, linesOf } from '../../src/cli/doctor/findings.ts';
import { listening } from '../support/servers.ts';
import { examined } from './doctor-support.ts';

test('doctor reads no more of an answer than a refusal has', async () => {
  const ended = Promise.withResolvers<void>();
  const answer = (response: ServerResponse) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    // An answer that the server never ends, and that is more than a socket takes at once.
    response.write(`{"error":"not_authentic"${' '.repeat(1024 ** 2)}`);
    void once(response, 'close').then(() => ended.resolve());
  };
  const port = await listening((_request, response) => answer(response));
  const found = await examined({ url: new URL(`http://127.0.0.1:${port}/webhooks`) });
  expect(found['reachable']).toContain("answers 401, but not in the form of a receiver's answer");
  await ended.promise;
});

test('doctor lets no name write a line of its own', () => {
  const forged = finding('subscription', 'ok', '"a\nok  node  Node 24\u001B[2J\u2028" delivers here');
  expect(linesOf([forged])).toEqual(['ok       subscription  "a ok  node  Node 24 [2J " delivers here']);
});
