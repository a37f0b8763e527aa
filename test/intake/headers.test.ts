import { describe, expect, test } from 'vitest';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { createReceiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';

const own = { 'X-Api-Key': 'key-1', 'X-Tenant': 'tenant-1' };
const json = { 'content-type': 'application/json' };

describe("the subscription's own headers", () => {
  test('authenticate an unsigned subscription, and the log says that nothing is signed', async () => {
    const { receiver, logs } = await started({ secrets: undefined, headers: own });
    expect((await deliver(receiver, bodyOf(), { ...json, ...own })).status).toBe(200);
    expect(logs.of('signature_not_checked')).toHaveLength(1);
  });

  test.each<[string, Record<string, string>]>([
    ['missing', { 'x-api-key': 'key-1' }],
    ['different', { 'x-api-key': 'key-2', 'x-tenant': 'tenant-1' }],
    ['longer', { 'x-api-key': 'key-11', 'x-tenant': 'tenant-1' }],
    ['empty', { 'x-api-key': '', 'x-tenant': 'tenant-1' }],
  ])('must all be there: one is %s', async (_, headers) => {
    const { receiver } = await started({ secrets: undefined, headers: own });
    const answer = await deliver(receiver, bodyOf(), { ...json, ...headers });
    expect(answer).toMatchObject({ status: 401, json: { error: 'not_authentic' } });
  });

  test('count besides the signature, not instead of it', async () => {
    const { receiver } = await started({ headers: own });
    const body = bodyOf();
    expect((await deliver(receiver, body, { ...json, ...own })).status).toBe(401);
    expect((await deliver(receiver, body, signedHeaders(body))).status).toBe(401);
    expect((await deliver(receiver, body, { ...signedHeaders(body), ...own })).status).toBe(200);
  });

  test('without secrets and without headers there is no receiver', () => {
    for (const options of [{}, { headers: {} }, { secrets: undefined }]) {
      expect(() => createReceiver(options)).toThrow(expect.objectContaining({ code: 'credentials_missing' }));
    }
  });

  test('are refused if any client sends them', () => {
    const headers = { 'Content-Type': 'application/json', 'user-agent': 'platform' };
    expect(() => createReceiver({ headers })).toThrow(
      /headers should be .* that other senders do not send, .* but is content-type, user-agent/,
    );
    expect(() => createReceiver({ headers: { ...headers, 'x-api-key': 'key-1' } })).not.toThrow();
  });

  test.each(['X-Forwarded-Proto', 'Forwarded', 'Origin', 'X-Webhook-Event', 'X-Real-IP'])(
    'tell nobody by what proxies add or every delivery has: %s',
    (name) => {
      expect(() => createReceiver({ headers: { [name]: 'https' } })).toThrow(
        expect.objectContaining({ code: 'option_invalid' }),
      );
    },
  );

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'a name that no request can carry',
      { 'x key': 'key-1' },
      /option headers should be .* keys are header names, such as 'X-Api-Key', but is one with " " in a key\.$/,
    ],
    ['a whole header as a name', { 'x-key: key-1': '' }, /but is one with ":" in a key\.$/],
    ['an empty name', { '': 'key-1' }, /but is one with an empty key\.$/],
    ['nothing as a value', { 'x-key': '' }, /headers\.x-key should be non-empty .*, but is empty/],
    [
      'a value that arrives otherwise',
      { 'x-key': ' key-1 ' },
      /headers\.x-key should be .* without spaces at its ends, but is of type string/,
    ],
  ])('are refused with %s', (_, headers, sentence) => {
    expect(() => createReceiver({ headers })).toThrow(sentence);
  });
});
