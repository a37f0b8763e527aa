import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { AttemptQuery } from '../../src/sandbox/index.ts';
import { knownSchemes } from '../../src/signature/schemes.ts';
import { ManualClock } from '../support/clock.ts';
import { verify } from '../support/public.ts';
import { deleted, changed, rotated, subscribed } from './delivery-subscription.ts';
import { destination, headersNamed } from './destination.ts';
import { startedSandbox } from './support.ts';
import { twoTenants } from './tenants.ts';

const hour = 3_600_000;
/** So fast that a call and its retries are over at once. */
const speed = 10_000;

test('a delivery has the method, the headers and the signature of the document, and its attempt is listed', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url, received } = await destination((_, index) => (response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"status":"accepted","index":${index}}`);
  });
  const { id, secret } = await subscribed(sandbox, url, {
    events: ['CallHandler.CallEnded'],
    headers: {
      'X-Own': 'credentials',
      'X-Webhook-Event': 'not ours to set',
      'Content-Length': '3',
      'Transfer-Encoding': 'chunked',
      Trailer: 'Expires',
    },
  });
  const call = await sandbox.calls.play({ scenario: 'completed' });
  const ended = call.events.find(({ eventName }) => eventName === 'CallHandler.CallEnded');
  const [delivery, ...others] = received;
  expect(others).toEqual([]);
  expect(delivery?.method).toBe('POST');
  expect(delivery?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-own': 'credentials',
    'x-webhook-event': 'CallHandler.CallEnded',
    'x-webhook-traceid': ended?.traceId,
    'x-webhook-timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect(delivery?.headers).not.toHaveProperty('transfer-encoding');
  expect(delivery?.json['traceId']).toBe(ended?.traceId);
  // Computed independently of `sign`: the signature covers `<t>.<body>`, and its key is the whole secret.
  const [, t = '', v1] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(delivery?.headers['x-webhook-signature'])) ?? [];
  const hmac = createHmac('sha256', secret).update(`${t}.`);
  expect(v1).toBe(hmac.update(delivery?.bytes ?? '').digest('hex'));
  expect(sandbox.attempts.list()).toEqual([
    {
      id: 1,
      subscriptionId: id,
      traceId: ended?.traceId,
      callId: call.callId,
      eventName: 'CallHandler.CallEnded',
      number: 1,
      startedAt: expect.any(Number),
      latencyMs: expect.any(Number),
      status: 200,
      answer: '{"status":"accepted","index":0}',
      failure: undefined,
      isDelivered: true,
      disturbance: undefined,
    },
  ]);
});

test('an unknown condition for listing attempts is refused', async () => {
  const sandbox = await startedSandbox();
  expect(() => sandbox.attempts.list({ callid: 'call_1' } as AttemptQuery)).toThrow(/Did you mean callId\?$/);
});

for (const scheme of knownSchemes.keys()) {
  test(`deliveries in the scheme ${scheme} verify`, async () => {
    const sandbox = await startedSandbox({ speed, scheme });
    const { url, received } = await destination();
    const { secret } = await subscribed(sandbox, url);
    await sandbox.calls.play({ scenario: 'transferred', transferBody: 'flat' });
    expect(received).toHaveLength(4);
    for (const { bytes, headers } of received) {
      expect(verify(bytes, headers, { secrets: secret, signature: scheme })).toMatchObject({
        ok: true,
      });
    }
  });
}

test('after a rotation there are two signatures for 72 hours, then one', async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock });
  const { url, received } = await destination();
  const subscription = await subscribed(sandbox, url, { events: ['CallHandler.CallStarted'] });
  const signedBy = async (secrets: readonly string[]) => {
    const before = received.length;
    sandbox.calls.begin();
    await expect.poll(() => received.length).toBe(before + 1);
    const { bytes, headers } = received[before] ?? { bytes: '', headers: {} };
    const signature = 't-v1-hex-whole';
    const now = clock.now();
    return secrets.map((secret) => verify(bytes, headers, { secrets: secret, signature, now }).ok);
  };
  const old = subscription.secret;
  const renewed = await rotated(sandbox, subscription);
  expect(await signedBy([old, renewed])).toEqual([true, true]);
  clock.advance(72 * hour - 1);
  expect(await signedBy([old, renewed])).toEqual([true, true]);
  clock.advance(1);
  expect(await signedBy([old, renewed])).toEqual([false, true]);
});

test('an unsigned subscription gets no signature, and gets one as soon as signing is enabled', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url, received } = await destination();
  const subscription = await subscribed(sandbox, url, { enable_signed_webhooks: false });
  await sandbox.calls.play({ scenario: 'unanalysed' });
  expect(received.map(({ headers }) => 'x-webhook-signature' in headers)).toEqual([false, false]);
  await changed(sandbox, subscription, { enable_signed_webhooks: true });
  await sandbox.calls.play({ scenario: 'unanalysed' });
  expect(received.map(({ headers }) => 'x-webhook-signature' in headers)).toEqual([false, false, true, true]);
});

const all = [
  'CallHandler.CallStarted',
  'CallHandler.CallTransferred',
  'CallHandler.CallEnded',
  'callAnalysis.pcaCompleted',
];

for (const [events, expected] of [
  [undefined, all],
  [[], all],
  [['*'], all],
  [['CallHandler.CallEnded'], ['CallHandler.CallEnded']],
  [['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], all.slice(2)],
  [['callHandler.CallEnded', 'callanalysis.pcaCompleted', 'CallHandler.Call', 'CallHandler.*'], []],
] as const) {
  test(`a subscription to ${JSON.stringify(events)} gets ${expected.length} of the four events`, async () => {
    const sandbox = await startedSandbox({ speed });
    const { url, received } = await destination();
    await subscribed(sandbox, url, events ? { events } : {});
    await sandbox.calls.play({ scenario: 'transferred' });
    expect(headersNamed(received, 'x-webhook-event').toSorted()).toEqual(expected.toSorted());
  });
}

test('a scope has the calls of its agents or workspaces, an organization its own', async () => {
  const [one, two] = twoTenants.organizations;
  const agents = [
    { id: 'agent_1', name: 'Reception', workspace_id: 'workspace_1' },
    { id: 'agent_3', name: 'Sales' },
  ];
  const seed = { organizations: [{ ...one, id: 'org_1', name: 'One', agents }, ...(two ? [two] : [])] };
  const sandbox = await startedSandbox({ speed, seed });
  const { url, received } = await destination();
  const subscribe = (name: string, fields: object, key = 'key_of_ada') =>
    subscribed(sandbox, `${url}/${name}`, { headers: { 'x-name': name }, ...fields }, key);
  await subscribe('organization', {});
  await subscribe('agent', { agent_ids: ['agent_3'] });
  await subscribe('workspace', { workspace_ids: ['workspace_1'] });
  await subscribe('other organization', {}, 'key_of_cleo');
  const whoGets = async (agentId: string) => {
    const before = received.length;
    await sandbox.calls.play({ agentId, scenario: 'unanalysed' });
    return [...new Set(headersNamed(received.slice(before), 'x-name'))].toSorted();
  };
  expect(await whoGets('agent_1')).toEqual(['organization', 'workspace']);
  expect(await whoGets('agent_3')).toEqual(['agent', 'organization']);
  expect(await whoGets('agent_2')).toEqual(['other organization']);
});

test('an inactive subscription gets no events, not even once it is active', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url, received } = await destination();
  const subscription = await subscribed(sandbox, url, { active: false });
  await sandbox.calls.play();
  await changed(sandbox, subscription, { active: true });
  const call = await sandbox.calls.play({ scenario: 'unanalysed' });
  const traceIds = call.events.map(({ traceId }) => traceId);
  expect(headersNamed(received, 'x-webhook-traceid').toSorted()).toEqual(traceIds.toSorted());
});

test('an active subscription that is paused gets nothing of what happens then', async () => {
  const sandbox = await startedSandbox({ speed });
  const { url, received } = await destination();
  const subscription = await subscribed(sandbox, url);
  await sandbox.calls.play({ scenario: 'unanalysed' });
  expect(received).toHaveLength(2);
  await changed(sandbox, subscription, { active: false });
  await sandbox.calls.play({ scenario: 'unanalysed' });
  expect(received).toHaveLength(2);
  // There was nothing to deliver, and so nothing that could be given up.
  expect(sandbox.deliveries.givenUp()).toEqual([]);
});

for (const [what, end] of [
  [
    'paused',
    (...[sandbox, subscription]: Parameters<typeof deleted>) =>
      changed(sandbox, subscription, { active: false }),
  ],
  ['deleted', deleted],
] as const) {
  test(`a subscription that is ${what} between two attempts gets no further one`, async () => {
    const sandbox = await startedSandbox({ speed });
    const { url, received } = await destination(() => (response) => {
      void end(sandbox, subscription).then(() => response.writeHead(500).end());
    });
    const subscription = await subscribed(sandbox, url, { events: ['CallHandler.CallEnded'] });
    const { callId } = await sandbox.calls.play();
    expect(received).toHaveLength(1);
    expect(sandbox.deliveries.givenUp()).toMatchObject([{ callId, attempts: 1 }]);
  });
}
