// @module-tag long
import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { bodyOf, deliver, deliveryOf, secret, signedHeaders } from '../support/deliveries.ts';
import { Logs } from '../support/logs.ts';
import { createReceiver, type Receiver } from '../support/public.ts';
import { stopped } from '../support/receiver.ts';
import { anyText } from '../support/any-text.ts';

/** All possible answers: the HTTP status, with the `error` code or the `status` of the body. */
const answers: Readonly<Record<number, readonly string[]>> = {
  200: ['accepted', 'duplicate', 'quarantined'],
  401: ['not_authentic'],
  403: ['https_required'],
  405: ['method'],
  413: ['too_large'],
  415: ['media_type'],
  421: ['host_not_allowed'],
};

let receiver: Receiver;

beforeAll(async () => {
  receiver = createReceiver({
    secrets: secret,
    signature: 't-v1-hex-whole',
    database: ':memory:',
    limits: { body: '2kb' },
    logger: new Logs().logger,
  });
  receiver.on('*', () => {});
  await receiver.start();
  return () => stopped(receiver, undefined);
});

const names = [
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'forwarded',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-webhook-signature',
  'x-webhook-traceid',
  'x-webhook-event',
  'x-webhook-timestamp',
];
const someHeaders = fc.dictionary(
  fc.oneof(fc.constantFrom(...names), anyText),
  fc.oneof(anyText, fc.array(fc.string(), { maxLength: 3 })),
  { maxKeys: 5 },
);
const someBytes = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .record({
      traceId: fc.anything(),
      eventName: fc.anything(),
      payload: fc.anything(),
      timestamp: fc.anything(),
    })
    .map((value) =>
      Buffer.from(JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? 1 : inner))),
    ),
);

test('whatever is delivered, signed or not, is answered from the table', async () => {
  const check = async (bytes: Uint8Array, headers: Record<string, string | string[]>, isSigned: boolean) => {
    const signature = isSigned ? signedHeaders(bytes) : {};
    const reply = await receiver.take({
      ...deliveryOf({ source: { kind: 'bytes', bytes } }),
      headers: { host: 'calls.example.com', ...signature, ...headers },
    });
    const { status, error } = JSON.parse(reply.body) as { status?: string; error?: string };
    expect(answers[reply.status]).toContain(status ?? error);
  };
  await fc.assert(fc.asyncProperty(someBytes, someHeaders, fc.boolean(), check), { numRuns: 500 });
});

test('whatever is signed is answered 200: it is kept, not refused', async () => {
  const check = async (bytes: Uint8Array) => {
    const answer = await deliver(receiver, new Uint8Array(bytes));
    expect([200, 413]).toContain(answer.status);
    expect(answer.status === 413).toBe(bytes.byteLength > 2_048);
  };
  await fc.assert(fc.asyncProperty(someBytes, check), { numRuns: 300 });
});

test('any order and repetition of the events of a call comes to the same events handled', async () => {
  const kinds = ['CallStarted', 'CallEnded', 'CallParked', 'CallNoted'];
  const check = async (order: readonly number[]) => {
    const logs = new Logs();
    const seen: string[] = [];
    const one = createReceiver({ secrets: secret, database: ':memory:', logger: logs.logger });
    one.on('*', (event) => seen.push(event.traceId));
    await one.start();
    const bodies = kinds.map((kind) =>
      bodyOf({ traceId: kind, callId: 'call-1', eventName: `CallHandler.${kind}` }),
    );
    await Promise.all(order.map((index) => deliver(one, bodies[index])));
    const expected = [...new Set(order.map((index) => kinds[index]))];
    await logs.until('run_done', expected.length);
    await one.stop();
    // Each event was handled once, in the order of arrival.
    expect(seen).toEqual(expected);
  };
  const orders = fc.array(fc.nat({ max: kinds.length - 1 }), { minLength: 1, maxLength: 12 });
  await fc.assert(fc.asyncProperty(orders, check), { numRuns: 100 });
});
