// @module-tag long
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { secret } from './command.ts';
import { freePort } from '../support/free-port.ts';
import { commanded, examined, plain, receiverAt } from './doctor-support.ts';

/** A sandbox with one subscription, and what the doctor says about it. */
async function subscribed(body: Readonly<Record<string, unknown>> = {}) {
  const sandbox = createSandbox({});
  await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const url = await receiverAt(plain);
  const apiKey = sandbox.apiKey ?? '';
  const create = (more: Readonly<Record<string, unknown>>) =>
    fetch(`${sandbox.url}/v1/public/webhook/subscription`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'calls',
        url,
        events: [],
        active: true,
        enable_signed_webhooks: true,
        ...more,
      }),
    });
  expect((await create(body)).status).toBe(201);
  const platform = new URL(sandbox.url);
  const environment = { RINGBACK_PLATFORM_KEY: apiKey, RINGBACK_SECRETS: secret };
  return { url, platform, apiKey, create, found: () => examined({ url, platform, environment }) };
}

describe('doctor, at the platform', () => {
  it('finds the subscription active, signed, pointing here, and the clocks agreeing', async () => {
    const { url, platform, apiKey } = await subscribed();
    const env = {
      RINGBACK_PUBLIC_URL: url.href,
      RINGBACK_PLATFORM_URL: platform.href,
      RINGBACK_PLATFORM_KEY: apiKey,
    };
    expect(await commanded([], { env })).toMatchObject({
      subscription: 'ok: "calls" delivers here',
      active: 'ok: the subscription is active',
      events: 'ok: the subscription asks for every event',
      signed: 'ok: the subscription is signed',
      clock: "ok: agrees with the platform's clock",
    });
  });

  it('reports that it is paused and not signed, or that there are two', async () => {
    const { create, found } = await subscribed({ active: false, enable_signed_webhooks: false });
    expect(await found()).toMatchObject({
      active: expect.stringMatching(/^wrong: .*set active to true/),
      signed: expect.stringMatching(/^wrong: .*enable signing/),
    });
    await create({ name: 'again' });
    const both = /^warning: "(calls|again)", "(calls|again)" all deliver here/;
    expect((await found())['subscription']).toMatch(both);
  });

  it.each([[['old', 'new']], [['new', 'old']]])('judges the active one of two: %j', async (names) => {
    const { create, found } = await subscribed({ name: 'elsewhere', url: 'https://other.example.com/' });
    for (const name of names) {
      const old = name === 'old' && { active: false, enable_signed_webhooks: false };
      await create({ name, ...old });
    }
    expect(await found()).toMatchObject({
      subscription: expect.stringMatching(/^warning: "new", "old" all deliver here/),
      active: 'ok: the subscription is active',
      signed: 'ok: the subscription is signed',
    });
  });

  it.each([
    [
      ['CallHandler.CallEnd'],
      /^wrong: .*only for unknown events.*"CallHandler.CallEnd" \(did you mean CallHandler\.CallEnded\?\)/,
    ],
    [['Order.Paid', 'Order.*'], /^wrong: .*: "Order.Paid", "Order.\*"\. Correct its events\.$/],
    [['CallHandler.CallEnded', 'Order.Paid'], /^warning: .*may never come: "Order.Paid"\.$/],
    [['CallHandler.*'], /^warning: .*may never come: "CallHandler\.\*"\.$/],
    [['CallHandler.*', 'callAnalysis.pcaCompleted'], /^warning: .*may never come: "CallHandler\.\*"\.$/],
    [
      ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
      /^ok: .* for CallHandler\.CallEnded, callAnalysis\.pcaCompleted$/,
    ],
    [['*'], /^ok: .* for every event$/],
  ])('shows whether it asks for events that there are: %j', async (events, expected) => {
    const { found } = await subscribed({ events });
    expect((await found())['events']).toMatch(expected);
  });

  it('reports that it delivers elsewhere', async () => {
    const { found } = await subscribed({ url: 'https://elsewhere.example.com/' });
    expect((await found())['subscription']).toMatch(/^wrong: none of 1 subscriptions delivers to http:/);
  });

  it('reports that the platform does not answer', async () => {
    const { url } = await subscribed();
    const environment = { RINGBACK_PLATFORM_KEY: 'key' };
    const platform = new URL(`http://127.0.0.1:${await freePort()}`);
    const found = await examined({ url, platform, environment });
    expect(found['subscription']).toMatch(
      /^wrong: the platform could not be queried: .*Check --platform and the con/,
    );
  });

  it('names only what is missing', async () => {
    const [url, platform] = [new URL('http://127.0.0.1:1/'), new URL('http://127.0.0.1:1/')];
    const environment = { RINGBACK_PLATFORM_KEY: 'key' };
    const skipped = async (parts: Parameters<typeof examined>[0]) => (await examined(parts))['subscription'];
    expect(await skipped({ url, platform })).toBe('skipped: set RINGBACK_PLATFORM_KEY to a key for it');
    expect(await skipped({ platform, environment })).toBe('skipped: set --url to the public address');
    expect(await skipped({ environment })).toBe(
      'skipped: set --platform to the address of the platform, and --url to the public address',
    );
  });

  it('reports that the key is not taken, and never prints it', async () => {
    const { url, platform } = await subscribed();
    const environment = { RINGBACK_PLATFORM_KEY: 'a-private-key' };
    const found = await examined({ url, platform, environment });
    expect(found['subscription']).toMatch(
      /^wrong: the platform could not be queried: .*Check that RINGBACK_PLATFORM_KEY is a key/,
    );
    expect(JSON.stringify(found)).not.toContain('a-private-key');
  });
});
