import { createServer as createSecureServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { cert, key } from '../cli/doctor-certificate.ts';
import { ManualClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { switchProtocols } from '../support/servers.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { subscribed } from './delivery-subscription.ts';
import { destination, headersNamed } from './destination.ts';
import { startedSandbox } from './support.ts';

const speed = 10_000;
const one = { events: ['CallHandler.CallStarted'] };

test('a failed attempt is made again three times, each ten seconds after the answer, then the delivery is given up', async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock });
  const { url, received } = await destination(() => 503);
  const { id } = await subscribed(sandbox, url, one);
  const call = sandbox.calls.begin({ scenario: 'unanalysed', duration: '1h' });
  for (const number of [1, 2, 3]) {
    await clock.timer(10_000);
    expect(received).toHaveLength(number);
    expect(sandbox.deliveries.givenUp()).toEqual([]);
    clock.advance(9_999);
    expect(sandbox.attempts.list()).toHaveLength(number);
    clock.advance(1);
  }
  const [started] = call.events;
  const givenUp = {
    traceId: started?.traceId,
    callId: call.callId,
    eventName: 'CallHandler.CallStarted',
    subscriptionId: id,
    attempts: 4,
  };
  await expect.poll(() => sandbox.deliveries.givenUp()).toEqual([givenUp]);
  expect(sandbox.attempts.list().map(({ number, status }) => [number, status])).toEqual([
    [1, 503],
    [2, 503],
    [3, 503],
    [4, 503],
  ]);
  expect(new Set(received.map(({ headers }) => headers['x-webhook-traceid']))).toEqual(
    new Set([started?.traceId]),
  );
  clock.advance(1_000_000);
  expect(received).toHaveLength(4);
});

test('an attempt that is answered with any 2xx ends the delivery', async () => {
  const sandbox = await startedSandbox({ speed });
  const answers = [500, 404, 204];
  const { url, received } = await destination((_, index) => answers[index] ?? 200);
  await subscribed(sandbox, url, one);
  const { callId } = await sandbox.calls.play();
  expect(received).toHaveLength(3);
  expect(sandbox.attempts.list({ callId }).map(({ isDelivered }) => isDelivered)).toEqual([
    false,
    false,
    true,
  ]);
  expect(sandbox.deliveries.givenUp()).toEqual([]);
});

test('an attempt has request_timeout_ms of real time, at any speed', async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock, speed: 1_000_000 });
  const { url, received } = await destination(() => () => {});
  await subscribed(sandbox, url, one);
  sandbox.calls.begin();
  await expect.poll(() => received.length).toBe(1);
  clock.advance(999);
  expect(sandbox.attempts.list()).toEqual([]);
  clock.advance(1);
  await expect.poll(() => sandbox.attempts.list()).toMatchObject([{ status: undefined, failure: 'timeout' }]);
  expect(sandbox.attempts.list()[0]?.latencyMs).toBe(1_000);
});

for (const [failure, answer] of [
  ['cut', (response: ServerResponse) => response.destroy()],
  ['not_http', (response: ServerResponse) => response.socket?.end('this is no HTTP\r\n\r\n')],
] as const) {
  test(`an attempt without a usable answer is the failure ${failure}`, async () => {
    const sandbox = await startedSandbox({ speed });
    const { url } = await destination(() => answer);
    await subscribed(sandbox, url, one);
    await sandbox.calls.play();
    expect(new Set(sandbox.attempts.list().map((attempt) => attempt.failure))).toEqual(new Set([failure]));
    expect(sandbox.deliveries.givenUp()).toHaveLength(1);
  });
}

test('an answer of 101 is an answer, and the delivery is repeated', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url } = await destination(() => switchProtocols);
  await subscribed(sandbox, url, one);
  await sandbox.calls.play();
  expect(sandbox.attempts.list()).toMatchObject(Array.from({ length: 4 }, () => ({ status: 101 })));
});

test('a closed port is the failure refused', async () => {
  const sandbox = await startedSandbox({ speed });
  await subscribed(sandbox, `http://127.0.0.1:${await freePort()}/`, one);
  await sandbox.calls.play();
  expect(sandbox.attempts.list()).toMatchObject(Array.from({ length: 4 }, () => ({ failure: 'refused' })));
});

test(
  'deliveries to an https address use TLS, and an untrusted certificate is the failure tls',
  { tags: 'long' },
  async () => {
    let connections = 0;
    const server = createSecureServer({ cert, key }).on('tlsClientError', () => (connections += 1));
    server.listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const sandbox = await startedSandbox({ speed });
    await subscribed(sandbox, `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, one);
    await sandbox.calls.play();
    expect(sandbox.attempts.list()).toMatchObject(Array.from({ length: 4 }, () => ({ failure: 'tls' })));
    await expect.poll(() => connections).toBe(4);
  },
);

test('a redirect is not followed, and no delivery', async () => {
  const sandbox = await startedSandbox({ speed });
  const elsewhere = await destination();
  const { url, received } = await destination(() => (response) => {
    response.writeHead(307, { location: elsewhere.url }).end();
  });
  await subscribed(sandbox, url, one);
  await sandbox.calls.play();
  expect(received).toHaveLength(4);
  expect(elsewhere.received).toEqual([]);
});

test('of an answer the first kilobyte is kept', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url } = await destination(() => (response) => response.end('x'.repeat(100_000)));
  await subscribed(sandbox, url, one);
  await sandbox.calls.play();
  expect(sandbox.attempts.list()[0]?.answer).toBe('x'.repeat(1_024));
});

test('a destination that never answers does not delay the others', { tags: 'long' }, async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock });
  const slow = await destination(() => () => {});
  const quick = await destination();
  await subscribed(sandbox, slow.url, one);
  await subscribed(sandbox, quick.url, one);
  for (let count = 0; count < 200; count += 1) sandbox.calls.begin();
  await expect.poll(() => quick.received.length).toBe(200);
  // The slow destination is not flooded: at most 64 attempts are in flight at once.
  expect(slow.received).toHaveLength(64);
});

test('stopped in the middle and started again, everything is delivered: what is to happen and what is to be tried again', async () => {
  const database = temporaryDatabase();
  let status = 500;
  const { url, received } = await destination(() => status);
  const clock = new ManualClock();
  const first = await startedSandbox({ database, clock });
  await subscribed(first, url);
  const playing = first.calls.play({ scenario: 'transferred', duration: '1m', analysisAfter: '5s' });
  await clock.timer(10_000);
  await first.stop();
  const call = await playing;
  expect(received).toHaveLength(1);

  status = 200;
  clock.advance(3_600_000);
  const second = await startedSandbox({ database, clock });
  await second.deliveries.settled();
  const traceIds = call.events.map(({ traceId }) => traceId);
  expect(headersNamed(received, 'x-webhook-traceid').toSorted()).toEqual(
    [traceIds[0] ?? '', ...traceIds].toSorted(),
  );
  expect(
    second.attempts.list({ traceId: traceIds[0] ?? '' }).map(({ number, status: got }) => [number, got]),
  ).toEqual([
    [1, 500],
    [2, 200],
  ]);
  expect(second.attempts.list({ callId: call.callId }).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
});

test('an attempt that a stop interrupts does not count, and is made at the next start', async () => {
  const database = temporaryDatabase();
  let answers = false;
  const { url, received } = await destination(() => (response) => {
    if (answers) response.end();
  });
  const first = await startedSandbox({ database, speed });
  await subscribed(first, url, one);
  const playing = first.calls.play();
  await expect.poll(() => received.length).toBe(1);
  await first.stop();
  await playing;
  answers = true;
  const second = await startedSandbox({ database, speed });
  await second.deliveries.settled();
  expect(second.attempts.list()).toMatchObject([{ number: 1, status: 200 }]);
  expect(received).toHaveLength(2);
});

test('a watcher gets every attempt', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url } = await destination();
  await subscribed(sandbox, url);
  const watched: unknown[] = [];
  const end = sandbox.attempts.watch((attempt) => watched.push(attempt));
  await sandbox.calls.play();
  expect(watched).toEqual(sandbox.attempts.list());
  end();
  const before = watched.length;
  await sandbox.calls.play();
  expect(watched).toHaveLength(before);
});

test('reading after a stop is refused with a sentence', async () => {
  const sandbox = await startedSandbox({ speed });
  await sandbox.stop();
  expect(() => sandbox.attempts.list()).toThrow('attempts.list() should be used while the sandbox runs');
  expect(() => sandbox.deliveries.givenUp()).toThrow(
    'deliveries.givenUp() should be used while the sandbox runs',
  );
});
