import { PassThrough, Readable } from 'node:stream';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, deliveryOf, otherSecret, signedHeaders } from '../support/deliveries.ts';
import type { Receiver, Reply } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

type Parts = NonNullable<Parameters<typeof deliveryOf>[0]>;

const take = (receiver: Receiver, parts: Parts = {}) => receiver.take(deliveryOf(parts));

/** Expects an answer as in the table of refusals: a status, a code, and nothing that says why. */
function expectRefusal(reply: Reply, status: number, code: string): void {
  expect(reply.status).toBe(status);
  expect(reply.body).toBe(JSON.stringify({ error: code }));
}

describe('a delivery is refused', () => {
  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('405: %s', async (method) => {
    const { receiver } = await started();
    const reply = await take(receiver, { method });
    expectRefusal(reply, 405, 'method');
    expect(reply.headers['allow']).toBe('POST');
  });

  test.each([
    ['another media type', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
  ])('415: %s', async (_, headers) => {
    const { receiver } = await started();
    expectRefusal(await take(receiver, { headers }), 415, 'media_type');
  });

  test.each([
    ['with a charset', { 'content-type': 'Application/JSON; charset=utf-8' }],
    ['of a vendor', { 'content-type': 'application/vnd.calls+json' }],
    ['not named', { 'content-type': undefined }],
    ['with the encoding that is none', { 'content-encoding': 'identity' }],
  ])('but not for JSON %s', async (_, headers) => {
    const { receiver } = await started();
    expect((await take(receiver, { headers })).status).toBe(200);
  });

  test('413: a declared length beyond the limit, before anything is read', async () => {
    const { receiver } = await started({ limits: { body: '1kb' } });
    const stream = new PassThrough();
    const headers = { 'content-length': '1025' };
    const reply = await take(receiver, { headers, source: { kind: 'stream', stream } });
    expectRefusal(reply, 413, 'too_large');
    expect(stream.readableDidRead).toBe(false);
  });

  test('413: a body that turns out to be longer, streamed or already read', async () => {
    const { receiver } = await started({ limits: { body: '1kb' } });
    const bytes = Buffer.alloc(1_025, ' ');
    const stream = Readable.from([bytes.subarray(0, 600), bytes.subarray(600)]);
    expectRefusal(await take(receiver, { source: { kind: 'stream', stream } }), 413, 'too_large');
    expectRefusal(await take(receiver, { source: { kind: 'bytes', bytes } }), 413, 'too_large');
  });

  test.each([
    ['declared', { 'content-length': String(bodyOf().length) }],
    ['not declared', {}],
  ])('200: a body of exactly the limit, its length %s', async (_, headers) => {
    const body = bodyOf();
    const { receiver } = await started({ limits: { body: body.length } });
    const source = { kind: 'stream', stream: Readable.from([Buffer.from(body)]) } as const;
    expect((await take(receiver, { body, source, headers })).status).toBe(200);
  });

  test('401: unsigned, signed with another secret, or changed on its way, and each time alike', async () => {
    const { receiver, logs } = await started();
    const body = bodyOf();
    const answers = [
      await deliver(receiver, body, { 'content-type': 'application/json' }),
      await deliver(receiver, body, signedHeaders(body, { secrets: otherSecret })),
      await deliver(receiver, `${body} `, signedHeaders(body)),
      await deliver(receiver, body, signedHeaders(body, { timestamp: Date.now() - 301_000 })),
    ];
    for (const { status, headers, json } of answers) {
      expect({ status, json }).toEqual({ status: 401, json: { error: 'not_authentic' } });
      expect([...headers]).toEqual([...(answers[0]?.headers ?? [])]);
    }
    expect(logs.of('delivery_refused').map(({ reason }) => reason)).toEqual([
      'signature_missing',
      'signature_mismatch',
      'signature_mismatch',
      'timestamp_out_of_tolerance',
    ]);
    expect((await receiver.counts()).quarantine.notAuthentic).toBe(4);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
  });

  test('408: a body that is not whole in time, or breaks off', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, limits: { bodyTimeout: '10s' } });
    const slow = take(receiver, { source: { kind: 'stream', stream: new PassThrough() } });
    await clock.timer(10_000);
    clock.advance(10_000);
    expectRefusal(await slow, 408, 'timeout');

    const stream = new PassThrough();
    const broken = take(receiver, { source: { kind: 'stream', stream } });
    stream.write('{"traceId"');
    stream.destroy(new Error('connection reset'));
    expectRefusal(await broken, 408, 'timeout');
    expect(logs.of('delivery_refused').map(({ reason }) => reason)).toEqual([
      'body_too_slow',
      'body_broken_off',
    ]);
  });

  test('500: a body that was already parsed, at once, with one line that names the fix', async () => {
    // Time is blocked: an answer that waited for anything would not come.
    const { receiver, logs } = await started({ clock: new ManualClock() });
    for (let index = 0; index < 3; index += 1) {
      expectRefusal(await take(receiver, { source: { kind: 'parsed' } }), 500, 'body_already_parsed');
    }
    expect(logs.of('refusal_fix')).toHaveLength(1);
    expect(logs.of('refusal_fix')[0]?.['fix']).toMatch(/before express\.json\(\).*rawBody: buffer/);
  });
});

describe('503 with Retry-After', () => {
  const expectUnavailable = (reply: Reply) => {
    expectRefusal(reply, 503, 'unavailable');
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  };

  test('before start and after stop', async () => {
    const { receiver } = made();
    expectUnavailable(await take(receiver));
    await receiver.start();
    expect((await take(receiver)).status).toBe(200);
    await receiver.stop();
    expectUnavailable(await take(receiver));
  });

  test('while stopping: what came before is still answered', async () => {
    const { receiver } = await started();
    const body = bodyOf();
    const stream = new PassThrough();
    const under = take(receiver, { body, source: { kind: 'stream', stream } });
    const stopping = receiver.stop();
    expectUnavailable(await take(receiver));
    stream.end(body);
    expect((await under).status).toBe(200);
    await stopping;
  });

  test('when a body finds no room among those in flight, and a small one needs none', async () => {
    const { receiver } = await started({ limits: { body: 85_000, inflight: 20_000 } });
    const largeBody = (traceId: string) => bodyOf({ traceId, payload: { filler: 'x'.repeat(84_000) } });
    const [first, large] = [largeBody('trace-1'), largeBody('trace-2')];
    const small = bodyOf({ payload: { filler: 'x'.repeat(10_000) } });
    const streamed = () => ({ kind: 'stream', stream: Readable.from([Buffer.from(large)]) }) as const;
    for (const source of [{}, { source: streamed() }]) {
      const inFlight = take(receiver, { body: first });
      expectUnavailable(await take(receiver, { body: large, ...source }));
      expect((await inFlight).status).toBe(200);
    }
    expect((await take(receiver, { body: small })).status).toBe(200);
  });

  test('while the inbox cannot be written, and never 200', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ clock, database, signature: 't-v1-hex-whole' });
    const other = new Database(database);
    other.exec('begin immediate');
    const body = bodyOf();
    const answering = take(receiver, { body });
    // The sender gives up after a second, and must have its answer before that.
    for (let waited = 0; waited < 900; waited += 20) {
      await turn();
      clock.advance(20);
    }
    expectUnavailable(await answering);
    expect(logs.of('delivery_failed')).toHaveLength(1);
    other.exec('rollback');
    other.close();
    clock.advance(20);
    expect((await take(receiver, { body })).status).toBe(200);
  });
});

describe('200', () => {
  test('accepted, then duplicate, with the trace id', async () => {
    const { receiver } = await started();
    const body = bodyOf({ traceId: 'trace-1' });
    expect((await deliver(receiver, body)).json).toEqual({ status: 'accepted', traceId: 'trace-1' });
    expect((await deliver(receiver, body)).json).toEqual({ status: 'duplicate', traceId: 'trace-1' });
  });

  test.each([
    ['nothing', ''],
    ['no JSON', '{"traceId":'],
    ['no object', '[1,2]'],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('quarantined: authentic, but %s, once for all its copies', async (_, body) => {
    const { receiver } = await started({ signature: 't-v1-hex-whole' });
    for (let copy = 0; copy < 2; copy += 1) {
      const answer = await deliver(receiver, body);
      expect(answer).toMatchObject({ status: 200, json: { status: 'quarantined' } });
    }
    expect((await receiver.counts()).quarantine.unreadable).toBe(1);
  });
});
