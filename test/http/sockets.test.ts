import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text as allOf } from 'node:stream/consumers';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, post, signedHeaders } from '../support/deliveries.ts';
import type { ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { connectedHttp2, exchanged, listening, uploadedWithoutEnd } from '../support/servers.ts';

const loopback: ReceiverOptions = { https: { required: false } };

/** The beginning of a delivery, up to and including the blank line before its body. */
function head(headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join('')}\r\n`;
}

describe('over node:http', () => {
  test('a delivery is taken, and one by another method is not', async () => {
    const { receiver } = await started(loopback);
    const url = `http://127.0.0.1:${await listening(receiver.nodeHandler())}/`;
    const { status, headers, json } = await post(url);
    expect({ status, answer: json.status }).toEqual({ status: 200, answer: 'accepted' });
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    const other = await fetch(url);
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('mounted without its parentheses, the adapter says so', async () => {
    const { receiver } = await started(loopback);
    // TypeScript refuses this mistake; JavaScript doesn't.
    const uncalled = Reflect.get(receiver, 'nodeHandler') as (request: unknown) => unknown;
    expect(() => uncalled({})).toThrow('Write receiver.nodeHandler(), with the parentheses.');
  });

  test('a body in many pieces, cut anywhere, is the same body', async () => {
    const { receiver } = await started(loopback);
    const port = await listening(receiver.nodeHandler());
    const body = bodyOf({ payload: { said: 'grüß Gott 👋' } });
    const answer = await exchanged(port, (write) => {
      write(head({ ...signedHeaders(body), 'transfer-encoding': 'chunked' }));
      for (const byte of Buffer.from(body)) {
        write('1\r\n');
        write(Buffer.from([byte]));
        write('\r\n');
      }
      write('0\r\n\r\n');
    });
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('"accepted"');
  });

  test.each<[string, Record<string, string | number>]>([
    ['declared', { 'content-length': 8 * 1024 ** 2 }],
    ['streamed', { 'transfer-encoding': 'chunked' }],
  ])('a sender of too much, %s, can read that it was too much', async (_, lengths) => {
    const { receiver } = await started({ ...loopback, limits: { body: '64kb' } });
    const port = await listening(receiver.nodeHandler());
    const filler = 'x'.repeat(0x4000);
    const answer = await exchanged(port, async (write) => {
      write(head({ 'content-type': 'application/json', ...lengths }));
      // It goes on sending long after the limit, like a sender that has not read the answer yet.
      for (let piece = 0; piece < 64; piece += 1) write(`4000\r\n${filler}\r\n`);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('{"error":"too_large"}');
  });

  test('a client that breaks off in the middle of its body harms nothing', async () => {
    const { receiver, logs } = await started(loopback);
    const port = await listening(receiver.nodeHandler());
    const body = bodyOf();
    for (let index = 0; index < 5; index += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(head({ ...signedHeaders(body), 'content-length': body.length }) + body.slice(0, 40), () =>
        socket.resetAndDestroy(),
      );
    }
    const refused = await logs.until('delivery_refused', 5);
    expect(refused.map(({ reason }) => reason)).toEqual(Array(5).fill('body_broken_off'));
    expect((await post(`http://127.0.0.1:${port}/`, body)).json.status).toBe('accepted');
    expect((await receiver.counts()).events.done + (await receiver.counts()).events.new).toBe(1);
  });
});

test.each([
  ['in the middle of its body', 40],
  ['after its body', undefined],
])(
  'over HTTP/1.1, a client that goes away %s before the receiver is asked has broken it off',
  async (_, sent) => {
    // Its time stands still: nobody waits for the rest of the body.
    const { receiver, logs } = await started({ ...loopback, clock: new ManualClock() });
    const handle = receiver.nodeHandler();
    const port = await listening((request, response) => {
      response.once('close', () => setImmediate(() => handle(request, response)));
      // Once what has come is read.
      setImmediate(() => request.socket.destroy());
    });
    const body = bodyOf();
    const headers = { ...signedHeaders(body), 'content-length': body.length };
    expect(await exchanged(port, (write) => write(head(headers) + body.slice(0, sent)))).toBe('');
    const [refused] = await logs.until('delivery_refused');
    expect(refused?.['reason']).toBe('body_broken_off');
  },
);

test(
  'over HTTP/1.1, an upload without end is answered, and its connection closed',
  { tags: 'long' },
  async () => {
    const { receiver } = await started(loopback);
    const port = await listening(receiver.nodeHandler());
    const endless =
      'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 100000000\r\n\r\n';
    expect(await uploadedWithoutEnd(port, endless)).toMatch(/^HTTP\/1\.1 415 /);
  },
);

describe('over HTTP/2', () => {
  test.each([
    ['in the middle of its body', 40],
    ['after its body', undefined],
  ])('a client that goes away %s before the receiver is asked has broken it off', async (_, sent) => {
    const { receiver, logs } = await started(loopback);
    const handle = receiver.nodeHandler();
    const client = await connectedHttp2((request: IncomingMessage, response: ServerResponse) => {
      response.once('close', () => setImmediate(() => handle(request, response)));
      client.destroy();
    });
    const body = bodyOf();
    const headers = { ...signedHeaders(body), 'content-length': body.length };
    const delivery = client.request({ ':method': 'POST', ...headers });
    if (sent === undefined) delivery.end(body);
    else delivery.write(body.slice(0, sent));
    const [refused] = await logs.until('delivery_refused');
    expect(refused?.['reason']).toBe('body_broken_off');
  });

  test('a client that resets its stream while its body is read has broken it off', async () => {
    const { receiver, logs } = await started(loopback);
    const handle = receiver.nodeHandler();
    let delivery: ClientHttp2Stream | undefined;
    const client = await connectedHttp2((request: IncomingMessage, response: ServerResponse) => {
      handle(request, response);
      request.once('data', () => delivery?.close(constants.NGHTTP2_NO_ERROR));
    });
    const body = bodyOf();
    const headers = { ...signedHeaders(body), 'content-length': body.length };
    delivery = client.request({ ':method': 'POST', ...headers });
    delivery.write(body.slice(0, 40));
    const [refused] = await logs.until('delivery_refused');
    expect(refused?.['reason']).toBe('body_broken_off');
  });

  test('a sender that does not end its refused body is cut off after a while', async () => {
    const { receiver } = await started(loopback);
    const client = await connectedHttp2(receiver.nodeHandler());
    const delivery = client.request({ ':method': 'POST', 'content-type': 'text/plain' });
    delivery.write('x');
    expect(JSON.parse(await allOf(delivery))).toEqual({ error: 'media_type' });
    if (!delivery.closed) await once(delivery, 'close');
    expect(delivery.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test('a delivery is taken', async () => {
    const { receiver } = await started(loopback);
    const client = await connectedHttp2(receiver.nodeHandler());
    const body = bodyOf();
    const delivery = client.request({ ':method': 'POST', ...signedHeaders(body) });
    delivery.end(body);
    expect(JSON.parse(await allOf(delivery))).toMatchObject({ status: 'accepted' });
  });
});

describe('over Request and Response', () => {
  test('a delivery is taken; the protocol of the URL is that of the connection', async () => {
    const { receiver } = await started();
    const request = (url: string) => {
      const body = bodyOf();
      return new Request(url, { method: 'POST', headers: signedHeaders(body), body });
    };
    expect((await receiver.fetch(request('https://calls.example.com/any/path?query'))).status).toBe(200);
    // A server may be given the function itself.
    const { fetch } = receiver;
    expect((await fetch(request('http://calls.example.com/'))).status).toBe(403);
    expect((await receiver.fetch(request('https://192.0.2.1/'))).status).toBe(421);
  });

  test.each([
    ["a framework's own request", { url: '/', method: 'POST', headers: {} }, 'of type object'],
    ['nothing', undefined, 'undefined'],
  ])('%s is refused with a sentence', async (_, given, found) => {
    const { receiver } = await started();
    await expect(receiver.fetch(given as never)).rejects.toThrow(
      `The option fetch(request) should be a Request, but is ${found}. In Hono, give it context.req.raw;`,
    );
  });

  test('a list of proxies matches no peer, and the fix names what does', async () => {
    const proxied = () => {
      const body = bodyOf();
      const headers = { ...signedHeaders(body), 'x-forwarded-proto': 'https' };
      return new Request('http://calls.example.com/', { method: 'POST', headers, body });
    };
    const { receiver, logs } = await started({ https: { trustProxy: ['0.0.0.0/0', '::/0'] } });
    expect((await receiver.fetch(proxied())).status).toBe(403);
    const [{ fix } = {}] = logs.of('refusal_fix');
    expect(fix).toMatch(/no list of addresses .* set https: \{ trustProxy: 1 \}/);
    const { receiver: trusting } = await started({ https: { trustProxy: 1 } });
    expect((await trusting.fetch(proxied())).status).toBe(200);
  });

  test('the address of the peer makes a list of proxies match', async () => {
    const { receiver, logs } = await started({ https: { trustProxy: 'loopback' } });
    const from = async (peerAddress: unknown) => {
      const body = bodyOf();
      const headers = { ...signedHeaders(body), 'x-forwarded-proto': 'https' };
      const request = new Request('http://calls.example.com/', { method: 'POST', headers, body });
      return (await receiver.fetch(request, { peerAddress: peerAddress as string })).status;
    };
    expect([await from('127.0.0.1'), await from('::ffff:127.0.0.1')]).toEqual([200, 200]);
    expect(await from('192.0.2.7')).toBe(403);
    expect(logs.of('refusal_fix')).toMatchObject([{ fix: expect.stringContaining('The peer 192.0.2.7') }]);
    // What other servers pass as the second argument.
    expect([await from(undefined), await from({ address: '127.0.0.1' })]).toEqual([403, 403]);
  });

  test('a media type that comes twice is the first one, as node:http has it', async () => {
    const { receiver } = await started({ https: { required: false } });
    const port = await listening(receiver.nodeHandler());
    const of = async (first: string, second: string) => {
      const body = bodyOf();
      const { 'content-type': _, ...signature } = signedHeaders(body);
      const headers = new Headers({ ...signature, 'content-type': first });
      headers.append('content-type', second);
      const request = new Request('https://calls.example.com/', { method: 'POST', headers, body });
      const lines = head({
        ...signature,
        'Content-Type': first,
        'content-type': second,
        'content-length': body.length,
      });
      const answer = await exchanged(port, (write) => write(lines + body));
      return [(await receiver.fetch(request)).status, Number(answer.split(' ', 2)[1])];
    };
    const json = 'application/json';
    expect(await of(json, `${json}; charset=utf-8`)).toEqual([200, 200]);
    expect(await of('text/plain', json)).toEqual([415, 415]);
  });

  test.each([
    ['media type', { 'content-type': '' }],
    ['media type before another', { 'content-type': ', text/plain' }],
    ['coding', { 'content-encoding': '' }],
    ['list of codings', { 'content-encoding': ' , identity' }],
  ])('an empty %s is none, as node:http has it', async (_, given) => {
    const { receiver } = await started(loopback);
    const port = await listening(receiver.nodeHandler());
    const body = bodyOf();
    const headers = { ...signedHeaders(body), ...given };
    const request = new Request('https://calls.example.com/', { method: 'POST', headers, body });
    const lines = head({ ...headers, 'content-length': body.length });
    const answer = await exchanged(port, (write) => write(lines + body));
    expect([(await receiver.fetch(request)).status, Number(answer.split(' ', 2)[1])]).toEqual([200, 200]);
  });

  test('what the server knows of the connection goes before the URL', async () => {
    const { receiver } = await started();
    const over = async (protocol: string, encrypted: boolean) => {
      const body = bodyOf();
      const url = `${protocol}://calls.example.com/`;
      const request = new Request(url, { method: 'POST', headers: signedHeaders(body), body });
      return (await receiver.fetch(request, { encrypted })).status;
    };
    expect([await over('http', true), await over('https', false)]).toEqual([200, 403]);
  });

  test('a body that was read already, or is missing, is answered', async () => {
    const { receiver } = await started();
    const body = bodyOf();
    const address = 'https://calls.example.com/';
    const read = new Request(address, { method: 'POST', headers: signedHeaders(body), body });
    await read.text();
    const parsed = await receiver.fetch(read);
    expect([parsed.status, await parsed.json()]).toEqual([500, { error: 'body_already_parsed' }]);
    const locked = new Request(address, { method: 'POST', headers: signedHeaders(body), body });
    locked.body?.getReader();
    expect((await receiver.fetch(locked)).status).toBe(500);
    expect((await receiver.fetch(new Request(address, { method: 'POST' }))).status).toBe(401);
    expect((await receiver.fetch(new Request(address))).status).toBe(405);
  });

  test('a body that breaks off is answered', async () => {
    const { receiver } = await started();
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{"traceId"'));
        controller.error(new Error('gone'));
      },
    });
    const request = new Request('https://calls.example.com/', { method: 'POST', body, duplex: 'half' });
    expect((await receiver.fetch(request)).status).toBe(408);
  });

  test.each([
    ['that is no JSON', { 'content-type': 'text/plain' }, 415],
    ['after the stop', { 'content-type': 'application/json' }, 503],
  ])('a body %s is refused unread, and may break off', async (_, headers, status) => {
    const { receiver } = await started();
    if (status === 503) await receiver.stop();
    const broken = Promise.withResolvers<void>();
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error('gone'));
        broken.resolve();
      },
    });
    const request = new Request('https://calls.example.com/', {
      method: 'POST',
      body,
      headers,
      duplex: 'half',
    });
    expect((await receiver.fetch(request)).status).toBe(status);
    // An unhandled error of the stream would make the test fail.
    await broken.promise;
  });

  test.each([10, 4 * 1024 ** 2])(
    'a refused body of %i bytes from node:http is not cancelled at once',
    async (size) => {
      const { receiver } = await started();
      const take = async (incoming: IncomingMessage, response: ServerResponse) => {
        const body = Readable.toWeb(incoming) as WebStream & ReadableStream;
        const headers = { 'content-type': 'text/plain' };
        const request = new Request('https://calls.example.com/', {
          method: 'POST',
          headers,
          body,
          duplex: 'half',
        });
        const answer = await receiver.fetch(request);
        response.writeHead(answer.status).end(await answer.text());
      };
      const port = await listening((incoming, response) => void take(incoming, response));
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x'.repeat(size) });
      // An error in the stream, which would end a process, makes the test fail.
      expect([answer.status, await answer.json()]).toEqual([415, { error: 'media_type' }]);
    },
  );

  test.each([
    ['too much', { 'content-type': 'application/json' }],
    ['refused before it was read', { 'content-type': 'text/plain' }],
  ])('a body without end that is %s is not read on', async (_, headers) => {
    const { receiver } = await started({ limits: { body: '1kb' } });
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(Buffer.alloc(512)),
      cancel: () => cancelled.resolve(),
    });
    const request = new Request('https://calls.example.com/', {
      method: 'POST',
      body,
      headers,
      duplex: 'half',
    });
    expect([413, 415]).toContain((await receiver.fetch(request)).status);
    await cancelled.promise;
  });
});
