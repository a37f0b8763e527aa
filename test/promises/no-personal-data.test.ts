import { expect, test } from 'vitest';
import { fixtures } from '../../scripts/fixtures.ts';
import { deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import { Discard } from '../support/public.ts';
import { started } from '../support/receiver.ts';

const credential = 'subscription-key-1';

/** Every text in a value that may be personal, such as a transcript, a number or a description. */
function* textsIn(value: unknown, name = ''): Generator<string> {
  // These are the identities and the name of an event, which the log may contain.
  if (['traceId', 'call_id', 'callId', '_id', 'eventName', 'event'].includes(name)) return;
  if (typeof value === 'string') yield value;
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) yield* textsIn(inner, key);
  }
}

test('8. no log line contains a body, a number, a transcript, a secret or the value of a header', async () => {
  const { receiver, logs } = await started(
    { headers: { 'x-api-key': credential }, retry: { attempts: 2, base: 0 } },
    (r) =>
      r
        .on('*', { name: 'quiet' }, () => {})
        .on('*', { name: 'shouting' }, (event) => {
          throw Object.assign(new Error(JSON.stringify(event.body)), { name: '+12025550199 called' });
        })
        .on('*', { name: 'discarding' }, (event) => {
          throw new Discard(JSON.stringify(event.body));
        })
        .fallback(() => {}),
  );
  const forbidden = new Set([
    secret,
    otherSecret,
    secret.slice(6),
    credential,
    '+12025550199',
    'Mozilla-like-agent',
  ]);
  for (const { headers, body, rawBody } of Object.values(fixtures)) {
    const bytes = rawBody ?? JSON.stringify(body);
    // The fixtures' own timestamps are long ago and outside the tolerance, so only the signature's new one is sent.
    const { 'x-webhook-timestamp': _, ...named } = headers;
    const own = { ...named, 'x-api-key': credential, 'user-agent': 'Mozilla-like-agent' };
    const signed: Record<string, string> = { ...own, ...signedHeaders(bytes) };
    const forged: Record<string, string> = { ...own, ...signedHeaders(bytes, { secrets: otherSecret }) };
    expect((await deliver(receiver, bytes, signed)).status).toBe(200);
    await deliver(receiver, bytes, signed);
    await deliver(receiver, bytes, forged);
    await deliver(receiver, bytes, { ...headers, 'x-api-key': 'guessed-key' });
    await deliver(receiver, bytes, { ...signed, 'content-type': 'text/secret-type' });
    for (const text of textsIn(body ?? rawBody)) forbidden.add(text);
    for (const made of [signed, forged]) forbidden.add(made['x-webhook-signature'] ?? '');
  }
  forbidden.add('guessed-key').add('text/secret-type');
  await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 0 });

  expect(logs.of('run_dead').length).toBeGreaterThan(20);
  expect(logs.of('delivery_duplicate')).not.toEqual([]);
  const log = logs.lines.map((line) => JSON.stringify(line)).join('\n');
  // The log may contain shorter texts, such as "success", for reasons of its own.
  const found = [...forbidden].filter((text) => text.length > 8 && log.includes(text));
  expect(found).toEqual([]);
  expect(log.match(/\+\d{7,}/g)).toBeNull();
});
