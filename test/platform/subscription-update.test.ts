import { describe, expect, it, test } from 'vitest';
import type { SubscriptionPatch, UpdateOptions } from '../../src/platform/index.ts';
import { answered, clientOf, platformError, sandboxAndPlatform, standIn } from './support.ts';

const url = 'https://calls.example.com/webhooks';
const wanted = {
  name: 'calls',
  description: 'All of it',
  url,
  events: ['CallHandler.CallEnded'],
  headers: { 'x-key': 'abc' },
  agent_ids: ['agent_1'],
};

describe('subscriptions.update', () => {
  test.each<[string, SubscriptionPatch]>([
    ['name', { name: 'other' }],
    ['description', { description: 'Others' }],
    ['url', { url: 'https://other.example.com' }],
    ['active', { active: false }],
    ['events', { events: ['*'] }],
    ['headers', { headers: { 'x-other': 'x' } }],
    ['agent_ids', { agent_ids: ['agent_1', 'agent_2'] }],
  ])('changes %s and nothing else', async (_, patch) => {
    const { platform } = await sandboxAndPlatform();
    const { subscription: before } = await platform.subscriptions.create(wanted);
    const { subscription, secret } = await platform.subscriptions.update(before.id, patch);
    const { updated_at: _updated, ...expected } = { ...before, ...patch };
    expect(subscription).toMatchObject(expected);
    expect(await platform.subscriptions.get(before.id)).toEqual(subscription);
    expect(secret).toBeUndefined();
  });

  it('writes every field of a request back, and no other', async () => {
    const stored = { ...answered, ...wanted, scope: 'AGENT' };
    const { url: address, received } = await standIn(
      { json: stored },
      { json: { ...stored, active: false } },
    );
    await clientOf(address).platform.subscriptions.update('sub_1', { active: false });
    expect(received.map(({ method }) => method)).toEqual(['GET', 'PUT']);
    expect(JSON.parse(received[1]?.body ?? '')).toEqual({
      ...wanted,
      active: false,
      enable_signed_webhooks: true,
    });
  });

  it('takes what is null for unset', async () => {
    const stored = { ...answered, headers: null, description: null };
    const { url: address, received } = await standIn({ json: stored });
    await clientOf(address).platform.subscriptions.update('sub_1', { active: true });
    expect(Object.keys(JSON.parse(received[1]?.body ?? '{}') as object).sort()).toEqual([
      'active',
      'enable_signed_webhooks',
      'events',
      'name',
      'url',
    ]);
  });

  it('applies all concurrent updates of one client', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create({ name: 'calls', url });
    const { id } = subscription;
    await Promise.all([
      platform.subscriptions.update(id, { description: 'All of it' }),
      platform.subscriptions.update(id, { events: ['CallHandler.CallEnded'] }),
      platform.subscriptions.pause(id),
      platform.subscriptions.update(id, { headers: { 'x-key': 'abc' } }),
      platform.subscriptions.disableSigning(id),
    ]);
    expect(await platform.subscriptions.get(id)).toMatchObject({
      description: 'All of it',
      events: ['CallHandler.CallEnded'],
      active: false,
      headers: { 'x-key': 'abc' },
      signing_enabled: false,
    });
  });

  it('continues with the next update after a failed one', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create({ name: 'calls', url });
    await platform.subscriptions.create({ name: 'taken', url });
    const [failed, done] = await Promise.allSettled([
      platform.subscriptions.update(subscription.id, { name: 'taken' }),
      platform.subscriptions.pause(subscription.id),
    ]);
    expect([failed.status, done.status]).toEqual(['rejected', 'fulfilled']);
  });

  it('says that there is none', async () => {
    const { platform } = await sandboxAndPlatform();
    expect(await platformError(platform.subscriptions.update('sub_9', { active: true }))).toMatchObject({
      operation: 'subscriptions.update',
      status: 404,
    });
  });
});

describe('subscriptions.update refuses, and sends nothing', () => {
  const refused = async (stored: object, patch: object = { active: true }, options: UpdateOptions = {}) => {
    const { url: address, received } = await standIn({ json: stored });
    const { platform } = clientOf(address);
    const error: unknown = await platform.subscriptions
      .update('sub_1', patch, options)
      .catch((reason: unknown) => reason);
    expect(received.filter(({ method }) => method === 'PUT')).toEqual([]);
    return error;
  };

  test.each<[string, object, RegExp]>([
    [
      'a field that it does not know',
      { ...answered, labels: ['a'] },
      /has labels, which this client doesn't know/,
    ],
    ['headers in another form', { ...answered, headers: [{ name: 'x', value: 'y' }] }, /headers in a form/],
    ['a header that is no text', { ...answered, headers: { x: 1 } }, /headers in a form/],
    ['headers whose values are masked', { ...answered, headers: { authorization: 'Bas***' } }, /masked/],
    [
      'agents in another form',
      { ...answered, scope: 'AGENT', agent_ids: [{ id: 'a' }] },
      /agent_ids in a form/,
    ],
    ['agents that are missing', { ...answered, scope: 'AGENT' }, /scope is AGENT, but .* no agent_ids/],
    ['agents that are null', { ...answered, scope: 'AGENT', agent_ids: null }, /no agent_ids/],
    ['workspaces that are missing', { ...answered, scope: 'WORKSPACE' }, /no workspace_ids/],
    ['no state of signing', { ...answered, signing_enabled: undefined }, /no signing_enabled/],
    ['events that are no list', { ...answered, events: 'all' }, /events in a form/],
    ['no url', { ...answered, url: null }, /no url/],
  ])('%s', async (_, stored, message) => {
    expect(await refused(stored)).toMatchObject({
      name: 'RingbackError',
      code: 'update_unsafe',
      message: expect.stringMatching(message),
    });
  });

  test.each<[string, object, RegExp]>([
    [
      'undefined',
      { description: undefined },
      /description in subscriptions\.update .* undefined.*replace\(id, whole\)/,
    ],
    ['null', { headers: null }, /headers in subscriptions\.update .* null.*replace\(id, whole\)/],
    ['nothing', {}, /at least one field/],
    ['a blank name', { name: '' }, /not blank/],
    ['a field that there is not', { signing_enabled: true }, /There is no option signing_enabled/],
  ])('a patch with %s', async (_, patch, message) => {
    expect(await refused(answered, patch)).toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(message),
    });
  });

  it('when an option does not say what to do with an unknown field', async () => {
    const stored = { ...answered, labels: ['a'], health: 'good' };
    const unknownFields = { labels: 'send-back' } as const;
    expect(await refused(stored, { active: true }, { unknownFields })).toMatchObject({
      code: 'update_unsafe',
    });
  });

  it('treats unknown fields as the option says, and leaves out times and counts', async () => {
    const stored = { ...answered, labels: ['a'], health: 'good', last_delivery_at: 'x', failure_count: 2 };
    const { url: address, received } = await standIn({ json: stored });
    const unknownFields = { labels: 'send-back', health: 'leave-out' } as const;
    await clientOf(address).platform.subscriptions.update('sub_1', { active: true }, { unknownFields });
    const sent: unknown = JSON.parse(received[1]?.body ?? '');
    expect(sent).toMatchObject({ labels: ['a'] });
    expect(Object.keys(sent as object)).not.toEqual(expect.arrayContaining(['health']));
    expect(sent).not.toHaveProperty('last_delivery_at');
    expect(sent).not.toHaveProperty('failure_count');
  });

  it('unless the patch gives what could not be read', async () => {
    const stored = { ...answered, headers: { authorization: '***' } };
    const { url: address, received } = await standIn({ json: stored });
    await clientOf(address).platform.subscriptions.update('sub_1', { headers: { authorization: 'Basic x' } });
    expect(received).toHaveLength(2);
  });
});

describe('the states of a subscription', () => {
  it('go from unsigned to signed, to signed, to unsigned, and to another secret', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscriptions } = platform;
    const { subscription } = await subscriptions.create({
      name: 'calls',
      url,
      enable_signed_webhooks: false,
    });
    const { id } = subscription;
    const signed = await subscriptions.enableSigning(id);
    expect([signed.subscription.signing_enabled, signed.secret?.reveal()]).toEqual([
      true,
      expect.stringMatching(/^whsec_/),
    ]);
    const again = await subscriptions.enableSigning(id);
    expect([again.subscription.signing_enabled, again.secret]).toEqual([true, undefined]);
    const unsigned = await subscriptions.disableSigning(id);
    expect([unsigned.subscription.signing_enabled, unsigned.secret]).toEqual([false, undefined]);
    const other = await subscriptions.update(id, { enable_signed_webhooks: true });
    expect(other.secret?.fingerprint).not.toBe(signed.secret?.fingerprint);
  });

  it('go from active to paused and back', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create(wanted);
    const paused = await platform.subscriptions.pause(subscription.id);
    expect(paused.subscription).toMatchObject({ ...wanted, active: false, signing_enabled: true });
    const resumed = await platform.subscriptions.resume(subscription.id);
    expect(resumed.subscription).toMatchObject({ ...wanted, active: true, signing_enabled: true });
  });

  it('warn when deliveries can no longer be authenticated', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create({ name: 'calls', url });
    const { warnings } = await platform.subscriptions.disableSigning(subscription.id);
    expect(warnings.map(({ code }) => code)).toEqual(['not_authenticated']);
    const withHeaders = await platform.subscriptions.create({ ...wanted, name: 'other' });
    expect(await platform.subscriptions.disableSigning(withHeaders.subscription.id)).toMatchObject({
      warnings: [],
    });
  });
});

test('a signal ends a write that waits for another, and later writes keep waiting', async () => {
  const held: (() => void)[] = [];
  const { url: address, received } = await standIn(
    (response) => void held.push(() => response.end(JSON.stringify(answered))),
    { json: answered },
  );
  const { subscriptions } = clientOf(address).platform;
  const first = subscriptions.pause('sub_1');
  await expect.poll(() => held.length).toBe(1);
  const controller = new AbortController();
  const second = subscriptions.pause('sub_1', { signal: controller.signal });
  const third = subscriptions.delete('sub_1');
  controller.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  // Another subscription waits for nobody: by its answer, a request of the third would have come too.
  await subscriptions.delete('sub_2');
  held[0]?.();
  await Promise.all([first, third]);
  expect(received.map(({ method, url: path }) => `${method} ${path.slice(-5)}`)).toEqual([
    'GET sub_1',
    'DELETE sub_2',
    'PUT sub_1',
    'DELETE sub_1',
  ]);
});
