import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listen, urlOf } from '../../src/http/listening.ts';

test('a server goes on after connections that the system could not accept', async () => {
  const server = createServer((_request, response) => response.end('here'));
  onTestFinished(() => void server.close());
  await listen(server, { host: '127.0.0.1', port: 0 });
  // As Node reports them.
  for (let lost = 0; lost < 2; lost += 1) server.emit('error', new Error('accept ENOBUFS'));
  expect(await (await fetch(urlOf(server))).text()).toBe('here');
});
