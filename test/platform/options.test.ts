import { inspect } from 'node:util';
import { describe, expect, expectTypeOf, it, test } from 'vitest';
import type { KnownEventName } from '../../src/events/names.ts';
import {
  type NewSubscription,
  type Platform,
  type PlatformOptions,
  type SubscriptionPatch,
  type WantedSubscription,
  createPlatform,
} from '../../src/platform/index.ts';
import { apiKey, clientOf, standIn } from './support.ts';

const baseUrl = 'https://api.example.com';
const given = (options: object) => () => createPlatform(options as PlatformOptions);

describe('the options of createPlatform', () => {
  test.each([
    ['an address with a path', { baseUrl: 'https://api.example.com/voice/' }],
    ['a URL', { baseUrl: new URL('https://api.example.com') }],
    ['plain http on loopback', { baseUrl: 'http://127.0.0.1:4000' }],
    ['plain http on IPv6 loopback', { baseUrl: 'http://[::1]:4000' }],
    ['plain http on localhost', { baseUrl: 'http://localhost:4000' }],
    ['every other option', { timeout: '5s', retry: { attempts: 1, base: 0, factor: 1, cap: '1m' } }],
  ])('take %s', (_, options) => {
    expect(given({ baseUrl, apiKey, ...options })).not.toThrow();
  });

  test.each([
    ['no base URL', { baseUrl: undefined }, 'baseUrl', 'undefined'],
    ['a text that is no URL', { baseUrl: 'api.example.com' }, 'baseUrl', 'no URL'],
    ['plain http to another machine', { baseUrl: 'http://api.example.com' }, 'baseUrl', 'plain http'],
    [
      'a name that only begins like loopback',
      { baseUrl: 'http://localhost.example.com' },
      'baseUrl',
      'plain http',
    ],
    ['an address with a password', { baseUrl: 'https://a:hunter22@api.example.com' }, 'baseUrl', 'password'],
    ['an address with a query', { baseUrl: 'https://api.example.com?key=1' }, 'baseUrl', 'query'],
    ['another protocol', { baseUrl: 'ftp://api.example.com' }, 'baseUrl', 'ftp:'],
    ['no key', { apiKey: undefined }, 'apiKey', 'undefined'],
    ['an empty key', { apiKey: ' ' }, 'apiKey', 'empty'],
    ['no time for an attempt', { timeout: 0 }, 'timeout', '0'],
    ['no attempts', { retry: { attempts: 0 } }, 'retry.attempts', '0'],
    ['a logger that is none', { logger: { info: () => {} } }, 'logger', 'object'],
  ])('refuse %s', (_, options, option, found) => {
    expect(given({ baseUrl, apiKey, ...options })).toThrow(
      expect.objectContaining({
        name: 'ConfigError',
        code: 'option_invalid',
        message: expect.stringMatching(new RegExp(`The option ${option} .*${found}`)),
      }),
    );
  });

  it('ask about the environment variable of a key that is undefined, and only then', () => {
    expect(given({ baseUrl, apiKey: undefined })).toThrow(
      /is undefined\. Is its environment variable set\?$/,
    );
    expect(given({ baseUrl })).toThrow(/is undefined\.$/);
    expect(given({ baseUrl, apiKey: 7 })).toThrow(/is of type number\.$/);
  });

  it('refuse an unknown option, and suggest the right one', () => {
    expect(given({ baseUrl, apiKey, timeuot: 1 })).toThrow(/Did you mean timeout\?/);
  });

  it('never quote a key, a password, or a key in the wrong place', () => {
    const wrong = [
      { baseUrl, apiKey: 'hunter22\n' },
      { baseUrl: 'hunter22', apiKey },
      { baseUrl: 'https://a:hunter22@api.example.com', apiKey },
    ];
    for (const options of wrong) {
      expect(given(options)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('hunter22') }),
      );
    }
  });
});

test('the types of requests are strict, and those of answers keep what is not known', () => {
  const typed = async ({ subscriptions, prompts }: Platform) => {
    const whole = { name: 'calls', url: baseUrl, active: true, enable_signed_webhooks: true } as const;
    // @ts-expect-error: only answers have this field
    await subscriptions.update('sub_1', { signing_enabled: true });
    // @ts-expect-error: without its events it would be reset to all
    await subscriptions.replace('sub_1', whole);
    // @ts-expect-error: a patch clears nothing
    await subscriptions.update('sub_1', { description: undefined });
    // @ts-expect-error: there is no such field
    await prompts.generate({ raw_prompt: 'a', temperature: 1 });
    const { id, added } = await subscriptions.get('sub_1');
    expectTypeOf(id).toEqualTypeOf<string>();
    expectTypeOf(added).toEqualTypeOf<unknown>();
  };
  expectTypeOf(typed).returns.resolves.toBeVoid();
});

test('the events of a subscription are offered by name, and any other is taken', () => {
  type Events = readonly (KnownEventName | '*' | (string & Record<never, never>))[];
  expectTypeOf<WantedSubscription['events']>().toEqualTypeOf<Events | undefined>();
  expectTypeOf<NewSubscription['events']>().toEqualTypeOf<Events | undefined>();
  expectTypeOf<SubscriptionPatch['events']>().toEqualTypeOf<Events | undefined>();
  expectTypeOf<string[]>().toExtend<NonNullable<WantedSubscription['events']>>();
});

describe('a client', () => {
  it('keeps the path of the base URL, and sends the key as a bearer token', async () => {
    const { url, received } = await standIn({ json: { user_id: 'u', prompt_id: 'p', prompt: 'x' } });
    const { platform } = clientOf(`${url}/voice/`);
    await platform.prompts.generate({ raw_prompt: 'a' });
    expect(received).toMatchObject([
      {
        method: 'POST',
        url: '/voice/v1/prompt-generation/prompt/generate',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      },
    ]);
  });

  it('does not show its key when it is printed', () => {
    const platform = createPlatform({ baseUrl, apiKey });
    expect(inspect(platform, { depth: 9, showHidden: true })).not.toContain(apiKey);
    expect(JSON.stringify(platform)).not.toContain(apiKey);
  });

  it('sends no request when it is created', async () => {
    const { url, received } = await standIn({});
    clientOf(url);
    expect(received).toEqual([]);
  });

  test.each(['', '.', '..', '\uD800'])('refuses %j as an id, which would make another path', async (id) => {
    const { url, received } = await standIn({ status: 204 });
    const { platform } = clientOf(url);
    await expect(platform.subscriptions.delete(id)).rejects.toThrow(
      /^The option id in subscriptions\.delete/,
    );
    expect(received).toEqual([]);
  });

  it('encodes ids', async () => {
    const { url, received } = await standIn({ status: 204 });
    await clientOf(url).platform.subscriptions.delete('a/../b?c#d é');
    expect(received[0]?.url).toBe('/v1/public/webhook/subscription/a%2F..%2Fb%3Fc%23d%20%C3%A9');
  });
});
