import { describe, expect, it, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type WantedSubscription, createPlatform } from '../../src/platform/index.ts';
import { Logs } from '../support/logs.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { answered, apiKey, clientOf, platformError, sandboxAndPlatform, standIn } from './support.ts';

const wanted: WantedSubscription = {
  name: 'calls',
  url: 'https://calls.example.com/webhooks',
  events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
};

describe('subscriptions.ensure', () => {
  it('creates, then does nothing', async () => {
    const { platform } = await sandboxAndPlatform();
    const first = await platform.subscriptions.ensure(wanted);
    expect(first).toMatchObject({ outcome: 'created', subscription: { ...wanted, signing_enabled: true } });
    expect(first.secret?.reveal()).toMatch(/^whsec_/);
    const second = await platform.subscriptions.ensure(wanted);
    expect(second).toEqual({
      outcome: 'unchanged',
      subscription: first.subscription,
      secret: undefined,
      warnings: [],
    });
  });

  it('takes fields that are undefined for fields that are not given, each time', async () => {
    const { platform } = await sandboxAndPlatform();
    const given = { ...wanted, active: undefined, headers: undefined } as unknown as WantedSubscription;
    expect(await platform.subscriptions.ensure(given)).toMatchObject({ outcome: 'created' });
    expect(await platform.subscriptions.ensure(given)).toMatchObject({ outcome: 'unchanged' });
  });

  it.each(['name', 'url'])('is asked for with a %s', async (field) => {
    const { platform } = await sandboxAndPlatform();
    const asking = platform.subscriptions.ensure({ ...wanted, [field]: undefined });
    await expect(asking).rejects.toThrow(
      new RegExp(`^The option ${field} in subscriptions.ensure should be a .*, but is undefined`),
    );
  });

  it('finds the subscription on whatever page it is', { tags: 'long' }, async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create(wanted);
    for (let index = 0; index < 105; index += 1) {
      await platform.subscriptions.create({ name: `other ${index}`, url: wanted.url });
    }
    expect(await platform.subscriptions.ensure(wanted)).toMatchObject({ outcome: 'unchanged', subscription });
    expect(await platform.subscriptions.count()).toBe(106);
  });

  test.each<[string, Partial<WantedSubscription>]>([
    ['url', { url: 'https://other.example.com' }],
    ['description', { description: 'Others' }],
    ['active', { active: false }],
    ['events', { events: ['CallHandler.CallEnded'] }],
    ['all events', { events: [] }],
    ['headers', { headers: { 'x-key': 'other' } }],
    ['agents', { agent_ids: ['agent_1'] }],
  ])('changes only what differs: %s', async (_, difference) => {
    const { platform } = await sandboxAndPlatform();
    const { subscription: before } = await platform.subscriptions.create({
      ...wanted,
      description: 'All of it',
      headers: { 'x-key': 'abc' },
    });
    const ensured = await platform.subscriptions.ensure({ ...wanted, ...difference });
    const { updated_at: _updated, scope: _scope, ...expected } = { ...before, ...difference };
    expect(ensured).toMatchObject({ outcome: 'updated', subscription: expected, secret: undefined });
    expect(await platform.subscriptions.ensure({ ...wanted, ...difference })).toMatchObject({
      outcome: 'unchanged',
    });
  });

  test.each<[string, Partial<WantedSubscription>]>([
    ['events in another order', { events: ['callAnalysis.pcaCompleted', 'CallHandler.CallEnded'] }],
    ['header names in other case', { headers: { 'X-KEY': 'abc' } }],
    ['agents in another order', { agent_ids: ['agent_2', 'agent_1'] }],
    ['no description', { description: '' }],
    ['no workspaces', { workspace_ids: [] }],
    ['the state of signing', { enable_signed_webhooks: true }],
  ])('takes for the same: %s', async (_, same) => {
    const stored = {
      ...answered,
      events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted', 'CallHandler.CallEnded'],
      headers: { 'x-key': 'abc' },
      agent_ids: ['agent_1', 'agent_2'],
    };
    const { url, received } = await standIn(
      { json: { data: [stored], next_page_token: null } },
      { json: stored },
    );
    const { name, url: address } = stored;
    const ensured = await clientOf(url).platform.subscriptions.ensure({ name, url: address, ...same });
    expect(ensured).toMatchObject({ outcome: 'unchanged', warnings: [] });
    expect(received.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  it('takes all events, by whatever way they are written, for the same', async () => {
    const { platform } = await sandboxAndPlatform();
    await platform.subscriptions.create({ ...wanted, events: [] });
    expect(await platform.subscriptions.ensure({ ...wanted, events: ['*'] })).toMatchObject({
      outcome: 'unchanged',
    });
  });

  it('enables signing, and stores the secret', async () => {
    const { platform } = await sandboxAndPlatform();
    await platform.subscriptions.create({
      ...wanted,
      enable_signed_webhooks: false,
      headers: { 'x-key': 'abc' },
    });
    const kept: string[] = [];
    const ensured = await platform.subscriptions.ensure(
      { ...wanted, enable_signed_webhooks: true },
      { onSecret: ({ secret }) => void kept.push(secret) },
    );
    expect(ensured).toMatchObject({ outcome: 'updated', subscription: { headers: { 'x-key': 'abc' } } });
    expect(kept).toEqual([ensured.secret?.reveal()]);
  });

  it('ends with one subscription and one secret, called many times at once by several clients', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    const clients = [
      platform,
      ...Array.from({ length: 3 }, () => createPlatform({ baseUrl: sandbox.url, apiKey })),
    ];
    const ensured = await Promise.all(
      [...clients, ...clients].map(({ subscriptions }) => subscriptions.ensure(wanted)),
    );
    expect(new Set(ensured.map(({ subscription }) => subscription.id)).size).toBe(1);
    expect(ensured.map(({ outcome }) => outcome).sort()).toEqual(['created', ...Array(7).fill('unchanged')]);
    expect(ensured.filter(({ secret }) => secret !== undefined)).toHaveLength(1);
    expect(await platform.subscriptions.count()).toBe(1);
  });

  it('creates it when it is deleted between listing and reading', async () => {
    const page = (data: readonly object[]) => ({ json: { data, next_page_token: null } });
    const { url } = await standIn(
      page([answered]),
      { status: 404, json: { error: 'not_found', message: 'Subscription not found' } },
      page([]),
      { status: 201, json: { ...answered, id: 'sub_2', secret: 'whsec_dGVzdA==' } },
    );
    const { name, url: address } = answered;
    expect(await clientOf(url).platform.subscriptions.ensure({ name, url: address })).toMatchObject({
      outcome: 'created',
      subscription: { id: 'sub_2' },
    });
  });

  it('quotes the platform when it is refused for another reason', async () => {
    const refusal = { status: 400, json: { type: 'VALIDATION_ERROR', message: 'Too many subscriptions' } };
    const empty = { json: { data: [], next_page_token: null } };
    const { url, received } = await standIn(empty, refusal, empty);
    expect(await platformError(clientOf(url).platform.subscriptions.ensure(wanted))).toMatchObject({
      message: expect.stringContaining('Too many subscriptions'),
    });
    expect(received.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
  });

  it('warns each time that deliveries can never arrive, whatever it has to do', async () => {
    const logs = new Logs();
    const { platform } = await sandboxAndPlatform({ logger: logs.logger });
    const local = { ...wanted, url: 'http://localhost/' };
    const codes = ['url_not_https', 'url_is_local'];
    const outcomes = [];
    for (const given of [local, local, { ...local, active: false }]) {
      const { outcome, warnings } = await platform.subscriptions.ensure(given);
      expect(warnings.map(({ code }) => code)).toEqual(codes);
      outcomes.push(outcome);
    }
    expect(outcomes).toEqual(['created', 'unchanged', 'updated']);
    expect(logs.lines.map(({ code }) => code)).toEqual([...codes, ...codes, ...codes]);
  });

  it('warns when the subscription is signed and the file has no secret', async () => {
    const { platform } = await sandboxAndPlatform();
    const secretFile = join(temporaryFolder(), 'secrets');
    await platform.subscriptions.ensure(wanted);
    const { warnings } = await platform.subscriptions.ensure(wanted, { secretFile });
    expect(warnings.map(({ code }) => code)).toEqual(['secret_not_in_file']);
    await platform.subscriptions.rotateSecret((await platform.subscriptions.ensure(wanted)).subscription.id, {
      secretFile,
    });
    expect(await platform.subscriptions.ensure(wanted, { secretFile })).toMatchObject({ warnings: [] });
  });

  test.each<[string, string, readonly string[]]>([
    ["another subscription's secret", 'whsec_b3RoZXI= # subscription other', ['secret_not_in_file']],
    [
      "another subscription's replaced secret",
      'whsec_b3RoZXI= # subscription other, until 2099-01-01T00:00:00.000Z',
      ['secret_not_in_file'],
    ],
    [
      'its own secret that has expired',
      'whsec_b3du # subscription ID, until 2020-01-01T00:00:00.000Z',
      ['secret_not_in_file'],
    ],
    ['a secret without a comment', 'whsec_b3RoZXI=', []],
    ['a secret of an unnamed subscription', 'whsec_b3RoZXI= # subscription unknown', []],
    ['a secret with a comment of its own', 'whsec_b3RoZXI= # of the subscription calls', []],
    [
      'its own secret beside another',
      'whsec_b3RoZXI= # subscription other\nwhsec_b3du # subscription ID',
      [],
    ],
  ])('finds the file with only %s', async (_, lines, codes) => {
    const { platform } = await sandboxAndPlatform();
    const secretFile = join(temporaryFolder(), 'secrets');
    const { subscription } = await platform.subscriptions.ensure(wanted);
    writeFileSync(secretFile, lines.replace('ID', subscription.id));
    const { warnings } = await platform.subscriptions.ensure(wanted, { secretFile });
    expect(warnings.map(({ code }) => code)).toEqual(codes);
  });

  test.each<[string, object, RegExp]>([
    ['no url', { name: 'calls' }, /The option url in subscriptions\.ensure/],
    ['a blank name', { ...wanted, name: ' ' }, /not blank/],
    ['a secret file without a name', wanted, /The option secretFile in subscriptions\.ensure/],
  ])('refuses %s', async (_, given, message) => {
    const { platform } = clientOf('http://127.0.0.1:1');
    const ensuring = platform.subscriptions.ensure(given as WantedSubscription, { secretFile: '' });
    await expect(ensuring).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(message),
    });
  });
});
