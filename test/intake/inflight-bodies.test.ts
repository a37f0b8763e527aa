import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliveryOf, signedHeaders } from '../support/deliveries.ts';
import type { ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { listening } from '../support/servers.ts';

const kilobyte = 1_024;
/** The bytes of each body that don't count. */
const free = 64 * kilobyte;

/** The body of an event of about so many bytes. */
const large = (bytes: number) => bodyOf({ payload: { filler: 'x'.repeat(bytes) } });

type Parts = NonNullable<Parameters<typeof deliveryOf>[0]>;

/** A receiver, and a function that begins deliveries whose bodies come when the test says so. */
async function receiving({ limits, ...options }: ReceiverOptions = {}) {
  const clock = new ManualClock();
  const parts = await started({ ...options, clock, limits: { bodyTimeout: '1h', ...limits } });
  const begin = async (body: string, from: Parts = {}) => {
    const stream = new PassThrough();
    const answer = parts.receiver.take(deliveryOf({ ...from, body, source: { kind: 'stream', stream } }));
    const send = async (first: number, end?: number) => {
      stream.write(body.slice(first, end));
      // The receiver reads it in the next turns of the event loop.
      await turn();
      await turn();
    };
    const status = async () => {
      stream.end();
      return (await answer).status;
    };
    return { send, status, answer: () => answer };
  };
  return { ...parts, clock, begin };
}

describe('what is in flight', () => {
  test('is counted as it comes: bodies below 64 KB are free, in whatever pieces they come', async () => {
    const { begin } = await receiving({ limits: { body: free, inflight: 1 } });
    const filler = free - 1 - bodyOf({ traceId: '0', callId: 'c', payload: { filler: '' } }).length;
    for (let index = 0; index < 5; index += 1) {
      const body = bodyOf({ traceId: `${index}`, callId: 'c', payload: { filler: 'x'.repeat(filler) } });
      expect(body.length).toBe(free - 1);
      const delivery = await begin(body);
      await delivery.send(0, 40 * kilobyte);
      await delivery.send(40 * kilobyte, -1);
      await delivery.send(-1);
      expect(await delivery.status()).toBe(200);
    }
  });

  test('has room for one sender alone, as long as there is room', { tags: 'long' }, async () => {
    const { begin } = await receiving({ limits: { body: '1mb', inflight: '4mb' } });
    const other = await begin(large(free + kilobyte), { peerAddress: '192.0.2.9' });
    await other.send(0);
    const bodies = Array.from({ length: 20 }, () => large(free + 190 * kilobyte));
    const deliveries = await Promise.all(bodies.map((body) => begin(body)));
    for (const { send } of deliveries) await send(0);
    for (const { status } of [other, ...deliveries]) expect(await status()).toBe(200);
  });

  test('makes room: the unfinished body with the least progress is refused, the newest is taken', async () => {
    const { begin, clock, logs } = await receiving({
      limits: { body: 300 * kilobyte, inflight: 300 * kilobyte },
    });
    const body = large(free + 140 * kilobyte);
    const fast = await begin(body);
    const slow = await begin(body);
    await slow.send(0, 100 * kilobyte);
    clock.advance(1_000);
    await fast.send(0, 200 * kilobyte);
    const newest = await begin(body);
    await newest.send(0);
    expect([await newest.status(), await slow.status()]).toEqual([200, 503]);
    await fast.send(200 * kilobyte);
    expect(await fast.status()).toBe(200);
    expect(logs.of('delivery_refused')).toMatchObject([{ code: 'unavailable', reason: 'displaced' }]);
  });

  test('makes no room for the slowest itself', async () => {
    const { begin, clock, logs } = await receiving({
      limits: { body: 250 * kilobyte, inflight: 200 * kilobyte },
    });
    const body = large(free + 140 * kilobyte);
    const slow = await begin(body);
    await slow.send(0, free);
    clock.advance(1_000);
    const fast = await begin(body);
    await fast.send(0);
    await slow.send(free);
    expect(await slow.status()).toBe(503);
    expect(await fast.status()).toBe(200);
    expect(logs.of('delivery_refused')).toMatchObject([{ code: 'unavailable', reason: 'inflight_full' }]);
  });
});

describe('when there is no room, a share of it', () => {
  const limits = { body: 300 * kilobyte, inflight: 800 * kilobyte };
  const body = large(free + 200 * kilobyte);

  /** A slow body of one sender, and what is more than there is room for of another. */
  async function crowded(one: Parts, other: Parts, options: ReceiverOptions = {}) {
    const { begin, clock } = await receiving({ ...options, limits });
    const slow = await begin(body, one);
    await slow.send(0, -1);
    clock.advance(60_000);
    const many = await Promise.all(Array.from({ length: 6 }, () => begin(body, other)));
    for (const { send } of many) {
      await send(0, -1);
      clock.advance(10);
    }
    await slow.send(-1);
    return slow.status();
  }

  const proxy = { https: { trustProxy: 'loopback' } } as const;
  const clientOf = (address: string): Parts => ({ headers: { 'x-forwarded-for': address } });

  test.each<[string, Parts, Parts, ReceiverOptions]>([
    ['peer', { peerAddress: '192.0.2.1' }, { peerAddress: '192.0.2.2' }, {}],
    ['client of a trusted proxy', clientOf('192.0.2.1'), clientOf('192.0.2.2'), proxy],
    ['client, whatever it says itself', clientOf('192.0.2.1'), clientOf('192.0.2.1, 192.0.2.2'), proxy],
    ['network of IPv6', { peerAddress: '2001:db8::1' }, { peerAddress: '2001:db8:0:1::1' }, {}],
  ])('is for each %s: who takes more displaces bodies of its own', async (_, one, other, options) => {
    expect(await crowded(one, other, options)).toBe(200);
  });

  test.each<[string, Parts, Parts, ReceiverOptions]>([
    ['a peer', {}, {}, {}],
    [
      'the clients that a peer names and that nobody trusts',
      clientOf('192.0.2.1'),
      clientOf('192.0.2.2'),
      {},
    ],
    ['the addresses of one IPv6 network', { peerAddress: '2001:db8::1' }, { peerAddress: '2001:db8::2' }, {}],
  ])('is one for %s', async (_, one, other, options) => {
    expect(await crowded(one, other, options)).toBe(503);
  });
});

describe('an attack with bodies that never end', () => {
  /** Posts an authentic body of 200 KB from an address of loopback; resolves to the status of the answer. */
  async function posted(port: number, localAddress: string): Promise<number | undefined> {
    const body = large(200 * kilobyte);
    const headers = { ...signedHeaders(body), 'content-length': body.length };
    const sending = request({ port, host: '127.0.0.1', localAddress, method: 'POST', headers });
    sending.end(body);
    const [response] = await once(sending, 'response');
    await text(response);
    return response.statusCode;
  }

  /** Sends the beginning of a body and goes on byte by byte; when it is refused, it begins again, a few times. */
  function dribble(port: number, times: number): void {
    if (times === 0) return;
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n');
    socket.write(`content-length: ${5 * 1024 * kilobyte}\r\n\r\n${'x'.repeat(free + 120 * kilobyte)}`);
    socket.once('data', () => {
      socket.destroy();
      dribble(port, times - 1);
    });
    const goOn = () => {
      if (!socket.destroyed) socket.write('x', () => setImmediate(goOn));
    };
    goOn();
  }

  test(
    'from 78 sockets keeps no genuine body out, from whichever address it comes',
    { tags: 'long' },
    async () => {
      const limits = { inflight: 8 * 1024 * kilobyte };
      const { receiver, logs } = await started({ https: { required: false }, limits });
      const port = await listening(receiver.nodeHandler());
      for (let count = 0; count < 78; count += 1) dribble(port, 3);
      // All room is taken: the first bodies are refused.
      await logs.until('delivery_refused', 1);
      for (let count = 0; count < 10; count += 1) {
        expect(await posted(port, '127.0.0.2')).toBe(200);
        expect(await posted(port, '127.0.0.1')).toBe(200);
      }
    },
  );

  test('does not block a stop when it never arrives', async () => {
    const { receiver, clock, begin } = await receiving();
    const stalled = await begin(bodyOf());
    await stalled.send(0, 1);
    const stopping = receiver.stop({ drain: '1s' });
    await clock.timer(1_000);
    clock.advance(1_000);
    expect(await stalled.answer()).toMatchObject({ status: 503 });
    await clock.runUntil(stopping);
  });
});
