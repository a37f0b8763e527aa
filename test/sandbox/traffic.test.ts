import { expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { subscribed } from './delivery-subscription.ts';
import { destination, headersNamed } from './destination.ts';
import { startedSandbox } from './support.ts';

test('traffic plays the requested number of calls, and ends with the last delivery', async () => {
  const sandbox = await startedSandbox({ speed: 10_000 });
  const { url, received } = await destination();
  await subscribed(sandbox, url, { events: ['CallHandler.CallEnded'] });
  expect(await sandbox.calls.traffic({ callsPerMinute: 60, count: 25 })).toBe(25);
  expect(received).toHaveLength(25);
});

test('calls are spread evenly over the minute', async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock });
  const { url, received } = await destination();
  await subscribed(sandbox, url, { events: ['CallHandler.CallStarted'] });
  // An attempt whose answer is still on its way as time moves on is made again: calls are counted, not attempts.
  const calls = () => new Set(headersNamed(received, 'x-webhook-traceid')).size;
  const ending = new AbortController();
  const traffic = sandbox.calls.traffic({ callsPerMinute: 6, signal: ending.signal });
  for (const count of [1, 2, 3]) {
    await expect.poll(calls).toBe(count);
    await clock.timer(10_000);
    clock.advance(9_999);
    await turn();
    expect(calls()).toBe(count);
    clock.advance(1);
  }
  await expect.poll(calls).toBe(4);
  ending.abort();
  await clock.runUntil(traffic);
  expect(await traffic).toBe(4);
});

test('calls that were missed while the machine was blocked are not played later', async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock });
  const ending = new AbortController();
  const traffic = sandbox.calls.traffic({ callsPerMinute: 60, signal: ending.signal });
  clock.advance(3_600_000);
  await turn();
  ending.abort();
  await clock.runUntil(traffic);
  expect(await traffic).toBeLessThanOrEqual(3);
});

test('traffic ends when the sandbox stops', async () => {
  const sandbox = await startedSandbox({ speed: 10 });
  const traffic = sandbox.calls.traffic({ callsPerMinute: 1 });
  await sandbox.stop();
  expect(await traffic).toBe(1);
});

for (const options of [
  { callsPerMinute: 0 },
  { callsPerMinute: 1, count: 0 },
  { callsPerMinute: Infinity },
]) {
  test(`traffic of ${options.callsPerMinute} calls a minute and ${options.count ?? 'any'} calls is refused`, async () => {
    const sandbox = await startedSandbox();
    await expect(sandbox.calls.traffic(options)).rejects.toThrow('in calls.traffic should be');
  });
}

test('traffic without an agent fails at its first call', async () => {
  const seed = { organizations: [{ id: 'org_1', name: 'Nobody' }] };
  const sandbox = await startedSandbox({ seed });
  await expect(sandbox.calls.traffic({ callsPerMinute: 600, count: 3 })).rejects.toThrow(
    'an organization with an agent',
  );
});

test('traffic that no machine can keep up with does not block other work', async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock, speed: 10_000 });
  const end = new AbortController();
  const traffic = sandbox.calls.traffic({ callsPerMinute: 1_000_000, signal: end.signal });
  // By then, more than a hundred thousand calls are due.
  clock.advance(1_000);
  setImmediate(() => end.abort());
  await clock.runUntil(traffic);
  expect(await traffic).toBeLessThan(500);
});
