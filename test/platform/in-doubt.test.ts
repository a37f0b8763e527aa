import { describe, expect, it, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { ManualClock } from '../support/clock.ts';
import {
  type Scripted,
  addressOfNobody,
  answered,
  apiKey,
  clientOf,
  platformError,
  reset,
  standIn,
} from './support.ts';

const wanted = { name: 'calls', url: 'https://calls.example.com/webhooks' };
const inDoubt = 'The platform may have carried out the operation nevertheless.';

describe('an error about a write says that it may have been carried out', () => {
  test.each<[string, Scripted | typeof reset]>([
    ['after a broken connection', reset],
    ['after 408', { status: 408, json: {} }],
    ['after 500', { status: 500, json: {} }],
    ['after 503 that does not ask to come back', { status: 503, json: {} }],
    ['after 502', { status: 502, body: '<h1>Bad</h1>' }],
    ['after 504', { status: 504, json: {} }],
    ['after 524', { status: 524, json: {} }],
    ['after 303', { status: 303, headers: { location: '/elsewhere' }, body: '' }],
    ['after a success without a body', { status: 200, body: '' }],
    ['after a success that is no JSON', { status: 201, body: '<!doctype html>' }],
    ['after a success that is no object', { status: 201, json: [] }],
    ['after a success that is too large', { status: 201, body: `"${'x'.repeat(17 * 1024 ** 2)}"` }],
  ])('%s', async (_, answer) => {
    const { url } = await standIn(answer);
    const { message } = await platformError(clientOf(url).platform.subscriptions.create(wanted));
    expect(message).toContain(
      `${inDoubt} Check with subscriptions.list before you create it again, or use subscriptions.ensure.`,
    );
  });

  test.each([
    [
      'a creation',
      'Check with subscriptions.list',
      (url: string) => clientOf(url).platform.subscriptions.create(wanted),
    ],
    [
      'a rotation',
      'Rotate again',
      (url: string) => clientOf(url).platform.subscriptions.rotateSecret('sub_1'),
    ],
  ])("after a success in another shape than the document's, of %s", async (_, advice, write) => {
    const { url } = await standIn({ json: { id: 7 } });
    const { code, message } = await platformError(write(url));
    expect(code).toBe('unexpected_answer');
    expect(message).toContain(`${inDoubt} ${advice}`);
  });

  test('after an answer that did not come in time', async () => {
    const clock = new ManualClock();
    const { url, received } = await standIn(() => {});
    const platform = createPlatform({ baseUrl: url, apiKey, timeout: '3s', clock });
    const pending = platformError(platform.subscriptions.create(wanted));
    await expect.poll(() => received.length).toBe(1);
    clock.advance(3_000);
    expect((await pending).message).toContain(inDoubt);
  });

  test.each([
    ['a rotation', 'Rotate again'],
    ['a deletion', 'Check the current state before you repeat it.'],
  ])('with what to do about %s', async (what, expected) => {
    const { url } = await standIn(reset);
    const { subscriptions } = clientOf(url).platform;
    const writing =
      what === 'a rotation' ? subscriptions.rotateSecret('sub_1') : subscriptions.delete('sub_1');
    expect((await platformError(writing)).message).toContain(`${inDoubt} ${expected}`);
  });
});

describe('an error about enabling signing says that the secret may be lost', () => {
  const lost =
    `${inDoubt} Check with subscriptions.get. If it was unsigned before and is signed now, its secret is lost: call ` +
    'subscriptions.rotateSecret.';
  const unsigned = { ...answered, signing_enabled: false };

  test('of an unsigned subscription', async () => {
    const { url } = await standIn({ json: unsigned }, reset);
    const { message } = await platformError(clientOf(url).platform.subscriptions.enableSigning('sub_1'));
    expect(message).toContain(lost);
  });

  test('of one that is replaced, whatever it was before', async () => {
    const { url } = await standIn({ json: { id: 7 } });
    const whole = { ...wanted, active: true, enable_signed_webhooks: true, events: [] };
    const { message } = await platformError(clientOf(url).platform.subscriptions.replace('sub_1', whole));
    expect(message).toContain(lost);
  });

  test.each([
    ['signed already', answered, { active: true }],
    ['still unsigned', unsigned, { active: true }],
  ])('but not of one that is %s', async (_, current, patch) => {
    const { url } = await standIn({ json: current }, reset);
    const { message } = await platformError(clientOf(url).platform.subscriptions.update('sub_1', patch));
    expect(message).toContain(`${inDoubt} Check the current state before you repeat it.`);
  });
});

describe('an error about a write that has issued a secret says that it was carried out', () => {
  const issued = { secret: 'whsec_bmV3' };
  const rotate = async (options: object) => {
    const { url } = await standIn({ json: issued });
    return clientOf(url).platform.subscriptions.rotateSecret('sub_1', options);
  };

  test('and the secret was stored', async () => {
    const kept: string[] = [];
    const { message } = await platformError(
      rotate({ onSecret: (s: { secret: string }) => kept.push(s.secret) }),
    );
    expect(kept).toEqual([issued.secret]);
    expect(message).toContain('The operation was carried out nevertheless.');
    expect(message).not.toContain(inDoubt);
  });

  test('and the secret is in the error only', async () => {
    await expect(rotate({})).rejects.toMatchObject({
      code: 'secret_not_kept',
      message: expect.stringMatching(/^(?!.*may have).* The operation was carried out nevertheless\. /),
    });
  });
});

describe('an error says nothing of it', () => {
  it('about a read', async () => {
    const { url } = await standIn(reset);
    const { message } = await platformError(clientOf(url).platform.subscriptions.get('sub_1'));
    expect(message).not.toContain(inDoubt);
  });

  it('about a write that was not sent', async () => {
    const { platform } = clientOf(await addressOfNobody());
    const { message } = await platformError(platform.subscriptions.create(wanted));
    expect(message).not.toContain(inDoubt);
  });

  it('about a read in another shape', async () => {
    const { url } = await standIn({ json: [] });
    const { code, message } = await platformError(clientOf(url).platform.subscriptions.get('sub_1'));
    expect(code).toBe('unexpected_answer');
    expect(message).not.toContain(inDoubt);
  });

  test.each<[number, Record<string, string>]>([
    [400, {}],
    [409, {}],
    [429, {}],
    [501, {}],
    [503, { 'retry-after': '1' }],
  ])('about a write that was refused with %i', async (status, headers) => {
    const { url } = await standIn({ status, headers, json: {} });
    const { message } = await platformError(clientOf(url).platform.subscriptions.create(wanted));
    expect(message).not.toContain(inDoubt);
  });

  it('about a write that was refused at too great length', { tags: 'long' }, async () => {
    const { url } = await standIn({ status: 400, body: `"${'x'.repeat(17 * 1024 ** 2)}"` });
    const { code, message } = await platformError(clientOf(url).platform.subscriptions.create(wanted));
    expect(code).toBe('too_large');
    expect(message).not.toContain(inDoubt);
  });
});
