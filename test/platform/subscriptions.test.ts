import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import {
  type NewSubscription,
  type Subscriptions,
  type WholeSubscription,
  createPlatform,
} from '../../src/platform/index.ts';
import { Logs } from '../support/logs.ts';
import { temporaryFolder } from '../support/temporary.ts';
import {
  answered,
  clientOf,
  otherKey,
  platformError,
  sandboxAndPlatform,
  standIn,
  everything,
} from './support.ts';

const url = 'https://calls.example.com/webhooks';
const whole: WholeSubscription = {
  name: 'calls',
  description: 'All of it',
  url,
  active: true,
  enable_signed_webhooks: true,
  events: ['CallHandler.CallEnded'],
  headers: { 'x-key': 'abc' },
  agent_ids: ['agent_1'],
};

describe('subscriptions.create', () => {
  it('creates a signed one, whose secret is returned once and not in the subscription', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription, secret, warnings } = await platform.subscriptions.create(whole);
    const { enable_signed_webhooks: _, ...stored } = whole;
    expect(subscription).toMatchObject({
      ...stored,
      id: expect.any(String),
      organization_id: 'org_1',
      scope: 'AGENT',
      created_user_id: 'user_1',
      signing_enabled: true,
      request_timeout_ms: 1_000,
      retry_policy: { retryStrategy: 'FIXED_DELAY', maxRetryAttempts: 3, maxRetryDelayMs: 10_000 },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String),
    });
    expect(secret?.reveal()).toMatch(/^whsec_.+/);
    expect(JSON.stringify(subscription)).not.toContain('whsec_');
    expect(warnings).toEqual([]);
    expect(await platform.subscriptions.get(subscription.id)).toEqual(subscription);
  });

  it('is active, signed and for all events by default', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription, secret } = await platform.subscriptions.create({ name: 'calls', url });
    expect(subscription).toMatchObject({
      active: true,
      signing_enabled: true,
      events: [],
      scope: 'ORGANIZATION',
    });
    expect(secret).toBeDefined();
  });

  it('creates an unsigned one, without a secret', async () => {
    const { platform } = await sandboxAndPlatform();
    const unsigned = { name: 'calls', url, enable_signed_webhooks: false, headers: { 'x-key': 'abc' } };
    const { subscription, secret, warnings } = await platform.subscriptions.create(unsigned);
    expect([subscription.signing_enabled, secret, warnings]).toEqual([false, undefined, []]);
  });

  it('restricts to workspaces', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create({
      name: 'w',
      url,
      workspace_ids: ['workspace_1'],
    });
    expect(subscription).toMatchObject({ scope: 'WORKSPACE', workspace_ids: ['workspace_1'] });
  });

  it('says that a name is taken', async () => {
    const { platform } = await sandboxAndPlatform();
    await platform.subscriptions.create({ name: 'calls', url });
    expect(await platformError(platform.subscriptions.create({ name: 'calls', url }))).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/name.*unique/),
      details: expect.any(Object),
    });
  });
});

describe('what is checked before anything is sent', () => {
  test.each<[string, object, RegExp]>([
    [
      'a blank name',
      { name: ' \t' },
      /option name in subscriptions\.create should be a name that is not blank/,
    ],
    ['no name', { name: undefined }, /option name/],
    ['a description of 1,501 characters', { description: 'é'.repeat(1_501) }, /at most 1500 characters/],
    ['a url of another protocol', { url: 'ftp://calls.example.com' }, /begins with https/],
    ['a url without one', { url: 'calls.example.com' }, /begins with https/],
    ['events that are no list', { events: '*' }, /option events .*a list of event names/],
    ['an event without a name', { events: [''] }, /option events\.0 .*event's name/],
    [
      'a header with a line break',
      { headers: { 'x-key': 'hunter22\r\nx: y' } },
      /a text that a header can carry/,
    ],
    [
      'a header that can not be one',
      { headers: { 'x key': 'hunter22' } },
      /keys are header names, .* but is one with " " in a key/,
    ],
    ['null', { agent_ids: null }, /option agent_ids .*a list of ids/],
    [
      'a field that there is not',
      { enable_signing: true },
      /no option enable_signing in subscriptions\.create/,
    ],
    [
      'a misspelled field that is needed',
      { url: undefined, uri: url },
      /no option uri in subscriptions\.create\. Did you mean url\?/,
    ],
    [
      'an option among the fields',
      { secretFile: './secrets' },
      /secretFile in subscriptions\.create should be in the last argument, the options, but is in the subscription/,
    ],
    ['a field that only answers have', { request_timeout_ms: 5_000 }, /no option request_timeout_ms/],
  ])('%s', async (_, wrong, message) => {
    const { url: address, received } = await standIn({ json: answered });
    const { platform } = clientOf(address);
    const wanted = { name: 'calls', url, ...wrong } as unknown as NewSubscription;
    const error: unknown = await platform.subscriptions.create(wanted).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'ConfigError', message: expect.stringMatching(message) });
    expect(String(error)).not.toContain('hunter22');
    expect(received).toEqual([]);
  });

  test.each<[string, (subscriptions: Subscriptions, fields: never) => Promise<unknown>]>([
    ['ensure', (subscriptions, fields) => subscriptions.ensure(fields)],
    ['replace', (subscriptions, fields) => subscriptions.replace('sub_1', fields)],
    ['update', (subscriptions, fields) => subscriptions.update('sub_1', fields)],
  ])('an option among the fields of %s', async (name, write) => {
    const { subscriptions } = clientOf('http://127.0.0.1:9').platform;
    const fields = { name: 'calls', url, secretFile: './secrets' } as never;
    await expect(write(subscriptions, fields)).rejects.toThrow(
      new RegExp(`secretFile in subscriptions\\.${name} .*Pass { secretFile } as the last argument\\.$`),
    );
  });

  it('a description that is too long is quoted by its beginning', async () => {
    const { platform } = clientOf('http://127.0.0.1:9');
    const creating = platform.subscriptions.create({ name: 'calls', url, description: 'é'.repeat(1_600) });
    const beginning = 'é'.repeat(100);
    await expect(creating).rejects.toThrow(`but is "${beginning}…" (1600 characters).`);
  });

  it('what the platform would take goes through: 1,500 characters outside the basic plane', async () => {
    const { platform } = await sandboxAndPlatform();
    const description = '𝒶'.repeat(1_500);
    const { subscription } = await platform.subscriptions.create({ name: 'calls', url, description });
    expect(subscription.description).toBe(description);
  });
});

describe('warnings, in the result and in the log', () => {
  test.each<[string, Partial<NewSubscription>, readonly string[]]>([
    ['plain http', { url: 'http://calls.example.com' }, ['url_not_https']],
    ['an IP address', { url: 'https://203.0.113.7/x' }, ['url_is_address']],
    ['an address written otherwise', { url: 'https://0x7f.1/' }, ['url_is_address']],
    ['IPv6', { url: 'https://[2001:db8::1]/' }, ['url_is_address']],
    ['localhost', { url: 'https://localhost:8080/' }, ['url_is_local']],
    ['a name of the local network', { url: 'https://printer.local./' }, ['url_is_local']],
    ['a name without a dot', { url: 'http://receiver/' }, ['url_not_https', 'url_is_local']],
    ['what is no address', { url: 'https://' }, ['url_unreadable']],
    ['a misspelled event', { events: ['CallHandler.callEnded'] }, ['event_unknown']],
    ['an event without its service', { events: ['CallEnded'] }, ['event_unknown']],
    ['neither signed nor headers', { enable_signed_webhooks: false }, ['not_authenticated']],
    ['all events of a service', { events: ['CallHandler.*'] }, ['event_unknown']],
    ['nothing', { events: ['*', 'CallHandler.CallEnded', 'callAnalysis.pcaCompleted'] }, []],
  ])('%s', async (_, given, codes) => {
    const logs = new Logs();
    const { url: address } = await standIn((response) => {
      const stored = { ...answered, ...given, signing_enabled: given.enable_signed_webhooks ?? true };
      const issued = stored.signing_enabled ? { secret: 'whsec_dGVzdA==' } : {};
      response.end(JSON.stringify({ ...stored, events: given.events ?? [], ...issued }));
    });
    const { platform } = clientOf(address, { logger: logs.logger });
    const { warnings } = await platform.subscriptions.create({ name: 'calls', url, ...given });
    expect(warnings.map(({ code }) => code)).toEqual(codes);
    expect(logs.lines.map(({ code }) => code)).toEqual(codes);
    expect(logs.lines.map(({ msg }) => msg)).toEqual(warnings.map(({ message }) => message));
  });

  it('say which event was meant', async () => {
    const { platform } = await sandboxAndPlatform();
    const events = ['callAnalysis.PcaCompleted'];
    const { warnings } = await platform.subscriptions.create({ name: 'calls', url, events });
    expect(warnings[0]?.message).toContain('Did you mean callAnalysis.pcaCompleted?');
  });

  it('report that the platform did not store what it was sent, and that a secret is missing', async () => {
    const { url: address } = await standIn({ json: { ...answered, active: false } });
    const { warnings, secret } = await clientOf(address).platform.subscriptions.create({
      name: 'calls',
      url,
    });
    expect(warnings.map(({ code }) => code)).toEqual(['not_stored', 'secret_missing']);
    expect(warnings[0]?.message).toContain('active');
    expect(secret).toBeUndefined();
  });
});

it('a missing secret that may be in the file is looked for there before it is rotated', async () => {
  const { url: address } = await standIn({ json: answered });
  const secretFile = join(temporaryFolder(), 'secrets');
  const create = async () => {
    const { subscriptions } = clientOf(address).platform;
    const { warnings } = await subscriptions.create({ name: 'calls', url }, { secretFile });
    expect(warnings.map(({ code }) => code)).toEqual(['secret_missing']);
    return warnings[0]?.message;
  };
  expect(await create()).toMatch(/answer has none\. Rotate the secret/);
  writeFileSync(secretFile, 'whsec_aG91c2U= # subscription sub_2\n');
  expect(await create()).toMatch(/answer has none\. Rotate the secret/);
  writeFileSync(secretFile, 'whsec_aG91c2U= # subscription sub_1\n');
  expect(await create()).toMatch(/may be it.*If deliveries do not verify with it, rotate/);
});

describe('subscriptions.list', () => {
  it('gives every one of every page, and no one of another organization', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    const other = createPlatform({ baseUrl: sandbox.url, apiKey: otherKey });
    await other.subscriptions.create({ name: 'theirs', url });
    const names = Array.from({ length: 7 }, (_, index) => `calls ${index}`);
    for (const name of names) await platform.subscriptions.create({ name, url });
    for (const pageSize of [1, 3, 7, 100]) {
      const listed = await everything(platform.subscriptions.list({ pageSize }));
      expect(listed.map(({ name }) => name).sort()).toEqual(names);
    }
    expect(await platform.subscriptions.count()).toBe(7);
    expect(await other.subscriptions.count()).toBe(1);
  });

  it('asks for a page when it is needed, and not before', async () => {
    const page = (token: string | null) => ({ json: { data: [answered], next_page_token: token } });
    const { url: address, received } = await standIn(page('a'), page('b'), page(null));
    const items = clientOf(address).platform.subscriptions.list({ pageSize: 1 });
    expect(received).toEqual([]);
    await items.next();
    expect(received.map(({ url: path }) => path)).toEqual(['/v1/public/webhook/subscriptions?page_size=1']);
    await items.next();
    expect(received[1]?.url).toBe('/v1/public/webhook/subscriptions?page_size=1&page_token=a');
    expect(await everything(items)).toHaveLength(1);
  });

  it('ends at a token that leads back, after what came so far', async () => {
    const page = (token: string) => ({ json: { data: [answered], next_page_token: token } });
    const { url: address } = await standIn(page('a'), page('b'), page('a'));
    const taken: string[] = [];
    const listing = async () => {
      for await (const { id } of clientOf(address).platform.subscriptions.list()) taken.push(id);
    };
    expect(await platformError(listing())).toMatchObject({ code: 'page_token_repeated' });
    expect(taken).toHaveLength(3);
  });

  test.each([undefined, null, ''])('takes %j for the last page', async (token) => {
    const { url: address, received } = await standIn({ json: { data: [answered], next_page_token: token } });
    expect(await everything(clientOf(address).platform.subscriptions.list())).toHaveLength(1);
    expect(received).toHaveLength(1);
  });

  test.each([0, 101, 1.5])('refuses a page size of %d, which the platform answers with 400', (pageSize) => {
    const { platform } = clientOf('http://127.0.0.1:1');
    expect(() => platform.subscriptions.list({ pageSize })).toThrow(/from 1 to 100/);
  });

  it.each([1, 2, 100])('ends with its signal, %d to a page', async (pageSize) => {
    const { platform } = await sandboxAndPlatform();
    for (const name of ['one', 'two', 'three']) await platform.subscriptions.create({ name, url });
    const controller = new AbortController();
    const items = platform.subscriptions.list({ pageSize, signal: controller.signal });
    await items.next();
    controller.abort(new Error('enough'));
    await expect(items.next()).rejects.toThrow('enough');
  });
});

describe('subscriptions.replace and delete', () => {
  it('clear what is left out', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create(whole);
    const { description: _, headers: __, agent_ids: ___, ...rest } = whole;
    const replaced = await platform.subscriptions.replace(subscription.id, rest);
    expect(replaced.subscription).toMatchObject({ scope: 'ORGANIZATION', signing_enabled: true });
    expect(Object.keys(replaced.subscription)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/description|headers|agent_ids/)]),
    );
    expect(replaced.secret).toBeUndefined();
  });

  test.each(['name', 'url', 'active', 'enable_signed_webhooks', 'events'])(
    'replace needs %s: left out, it would be reset',
    async (field) => {
      const { platform } = clientOf('http://127.0.0.1:1');
      const { [field]: _, ...rest } = { ...whole } as Record<string, unknown>;
      const replacing = platform.subscriptions.replace('sub_1', rest as unknown as WholeSubscription);
      await expect(replacing).rejects.toMatchObject({
        name: 'ConfigError',
        message: expect.stringContaining(field),
      });
    },
  );

  it('delete permanently', async () => {
    const { platform } = await sandboxAndPlatform();
    const { subscription } = await platform.subscriptions.create(whole);
    await platform.subscriptions.delete(subscription.id);
    expect(await platformError(platform.subscriptions.get(subscription.id))).toMatchObject({ status: 404 });
    expect(await platformError(platform.subscriptions.delete(subscription.id))).toMatchObject({
      status: 404,
    });
  });
});
