// @module-tag long
import { expect, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { isReconcilable } from '../../src/events/reconciled.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import type { CallEvent, Receiver } from '../support/public.ts';
import { listening } from '../support/servers.ts';
import { started, stopped } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { startedSandbox } from '../sandbox/support.ts';

/** The address that the platform delivers to: what stands before the app answers 502 while the app is down. */
async function front() {
  const app: { receiver: Receiver | undefined } = { receiver: undefined };
  const port = await listening((request, response) => {
    if (app.receiver) app.receiver.nodeHandler()(request, response);
    else response.writeHead(502).end();
  });
  return { app, url: `http://127.0.0.1:${port}/webhooks` };
}

/** What handlers were given, across restarts: one line for each run. */
function handlersInto(handled: string[]) {
  return (receiver: Receiver) =>
    receiver.on('*', (event: CallEvent) => {
      handled.push(`${event.eventName} ${event.callId} ${event.source}`);
    });
}

/** The events that were given up, and that the platform's answers about calls tell of. */
function rebuildable(sandbox: Sandbox) {
  return sandbox.deliveries.givenUp().filter(({ eventName, callId }) => {
    // The sandbox answers for a call that failed as for one whose analysis is not ready.
    const isReported =
      !eventName.startsWith('callAnalysis.') || sandbox.calls.get(callId)?.analysis?.items.length;
    return isReconcilable(eventName) && isReported;
  });
}

test('after an outage of ten minutes every start, end and analysis is handled exactly once', async () => {
  const sandbox = await startedSandbox({ speed: 1_000, callSeed: 'outage' });
  const platform = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey ?? '' });
  const { app, url } = await front();
  const { secret } = await platform.subscriptions.create({
    name: 'calls',
    url,
    events: ['*'],
    active: true,
    enable_signed_webhooks: true,
  });
  const secrets = secret?.reveal() ?? '';
  const database = temporaryDatabase();
  const handled: string[] = [];
  const startReceiver = async () => {
    const options = { database, secrets, https: { required: false } };
    const { receiver } = await started(options, handlersInto(handled));
    app.receiver = receiver;
    return receiver;
  };

  // A call that is covered, and one that goes on as the receiver is stopped.
  const before = await startReceiver();
  const covered = await sandbox.calls.play({ scenario: 'completed', duration: '60s', analysisAfter: '7s' });
  const through = sandbox.calls.begin({
    scenario: 'completed',
    duration: '5m',
    analysisAfter: '7s',
  });
  await expect.poll(() => handled).toContain(`CallHandler.CallStarted ${through.callId} delivered`);
  app.receiver = undefined;
  await stopped(before, undefined);

  // Ten minutes of the platform's time, in which it waits and gives up as it does.
  await sandbox.calls.traffic({ callsPerMinute: 2, count: 20 });
  await sandbox.deliveries.settled();
  const missing = rebuildable(sandbox);
  const callIds = new Set(sandbox.deliveries.givenUp().map(({ callId }) => callId));
  expect(missing.length).toBeGreaterThan(40);

  // One of them comes after all, before anybody has looked.
  const receiver = await startReceiver();
  const [first, ...others] = missing;
  if (!first) throw new Error('nothing was given up');
  const signed = async (event: (typeof missing)[number], traceId = event.traceId) => {
    const body = bodyOf({ ...event, traceId });
    return (await deliver(receiver, body, signedHeaders(body, { secrets }))).json.status;
  };
  expect(await signed(first)).toBe('accepted');

  const { calls, analyses } = platform;
  const asked: Date[] = [];
  const ids = (since: Date) => {
    asked.push(since);
    return [...callIds, covered.callId];
  };
  const found = await receiver.reconcile({ calls, analyses, ids, since: '15m' });
  expect(found).toMatchObject({ calls: callIds.size + 1, recorded: others.length, notEnded: 0, failed: 0 });
  expect(asked).toEqual([expect.any(Date)]);

  // Run again, in two places at once, and then the platform's own deliveries come, under their own trace ids and another's.
  const again = await Promise.all(
    [1, 2].map(() => receiver.reconcile({ calls, analyses, ids, since: '15m' })),
  );
  expect(again.map(({ recorded }) => recorded)).toEqual([0, 0]);
  for (const event of others) expect(await signed(event)).toBe('duplicate');
  expect(await signed(others[0] ?? first, 'another-trace-id')).toBe('duplicate');

  const lineOf = (event: { eventName: string; callId: string }, source: string) =>
    `${event.eventName} ${event.callId} ${source}`;
  const given = new Set(missing.map((event) => lineOf(event, 'delivered')));
  const isNotMissing = (line: string) => !given.has(line);
  const expected = [
    ...others.map((event) => lineOf(event, 'reconciled')),
    lineOf(first, 'delivered'),
    ...[covered, through].flatMap(({ events, callId }) =>
      events.map(({ eventName }) => lineOf({ eventName, callId }, 'delivered')).filter(isNotMissing),
    ),
  ];
  await expect.poll(() => handled.length).toBe(expected.length);
  await stopped(receiver, undefined);
  expect(handled.toSorted()).toEqual(expected.toSorted());
});
