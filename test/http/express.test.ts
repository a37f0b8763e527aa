import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import express5 from 'express';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, post, signedHeaders } from '../support/deliveries.ts';
import type { Receiver, ReceiverOptions } from '../support/public.ts';
import { listening } from '../support/servers.ts';
import { started } from '../support/receiver.ts';

// @ts-expect-error Express 4 is here under another name, for which there are no types.
import express4 from 'express4';

const versions: readonly (readonly [string, typeof express5])[] = [
  ['Express 5', express5],
  ['Express 4', express4 as typeof express5],
];
const loopback: ReceiverOptions = { https: { required: false } };

/** Keeps the raw bytes, as the log line tells users to do. */
const keepBytes = (request: IncomingMessage, _response: ServerResponse, buffer: Buffer) => {
  (request as { rawBody?: Buffer }).rawBody = buffer;
};

/** What a user may write instead. */
const keepText = (request: IncomingMessage, _response: ServerResponse, buffer: Buffer) => {
  (request as { rawBody?: string }).rawBody = buffer.toString();
};

async function urlOf(app: ReturnType<typeof express5>, path = '/webhooks/calls'): Promise<string> {
  return `http://127.0.0.1:${await listening(app)}${path}`;
}

describe.each(versions)('%s', (_, express) => {
  /** An app with middleware that makes each answer fail. */
  const appWithBrokenAnswers = (receiver: Receiver) => {
    const app = express();
    app.use((_request, response, next) => {
      response.end = () => {
        throw new Error('no end');
      };
      next();
    });
    return app.use(receiver.middleware());
  };

  test('mounted without its parentheses, the adapter says so', async () => {
    const { receiver } = await started(loopback);
    const app = express();
    // TypeScript refuses this mistake; JavaScript doesn't.
    app.use(Reflect.get(receiver, 'middleware') as never);
    const failures: unknown[] = [];
    const answering: express5.ErrorRequestHandler = (error, _request, response, _next) => {
      failures.push(error);
      response.status(500).end('{}');
    };
    app.use(answering);
    expect((await post(await urlOf(app))).status).toBe(500);
    expect(failures).toMatchObject([
      { code: 'adapter_not_called', message: expect.stringContaining('receiver.middleware()') },
    ]);
  });

  test('mounted under a path, before any body parser', async () => {
    const { receiver, logs } = await started(loopback, (r) => r.on('*', () => {}));
    const app = express();
    app.use('/webhooks/calls', receiver.middleware());
    app.use(express.json());
    app.post('/other', (request, response) => void response.json(request.body));
    const url = await urlOf(app);
    const body = bodyOf({ traceId: 'trace-1' });
    expect((await post(url, body)).json).toEqual({ status: 'accepted', traceId: 'trace-1' });
    expect((await post(url, body)).json).toEqual({ status: 'duplicate', traceId: 'trace-1' });
    expect((await post(`${url}/deeper`)).json.status).toBe('accepted');
    await logs.until('run_done', 2);
    // The app's own routes are untouched.
    const other = await post(url.replace('/webhooks/calls', '/other'), '{"a":1}');
    expect(other.json).toEqual({ a: 1 });
  });

  test.each<[string, (app: ReturnType<typeof express5>) => unknown]>([
    ['express.json that keeps rawBody', (app) => app.use(express.json({ verify: keepBytes }))],
    ['express.raw', (app) => app.use(express.raw({ type: 'application/json' }))],
    ['a parser of something else', (app) => app.use(express.urlencoded({ extended: false }))],
  ])('behind %s', async (_name, parse) => {
    const { receiver } = await started(loopback);
    const app = express();
    parse(app);
    app.use(receiver.middleware());
    expect((await post(await urlOf(app))).json.status).toBe('accepted');
  });

  test.each<[string, (app: ReturnType<typeof express5>) => unknown]>([
    ['express.json', (app) => app.use(express.json())],
    ['express.text', (app) => app.use(express.text({ type: 'application/json' }))],
  ])('behind %s it answers 500 and says the fix, once', async (_name, parse) => {
    const { receiver, logs } = await started(loopback);
    const app = express();
    parse(app);
    app.use(receiver.middleware());
    const url = await urlOf(app);
    for (let index = 0; index < 2; index += 1) {
      expect(await post(url)).toMatchObject({ status: 500, json: { error: 'body_already_parsed' } });
    }
    expect(logs.of('refusal_fix')).toMatchObject([{ fix: expect.stringContaining('before express.json()') }]);
  });

  test.each<[string, string, (app: ReturnType<typeof express5>) => unknown]>([
    [
      'a parser that keeps text',
      'rawBody of the request is a string',
      (app) => app.use(express.json({ verify: keepText })),
    ],
    [
      'what answers and goes on at once',
      'The app answered',
      (app) => app.use((_request, response, next) => (response.send('done'), next())),
    ],
    [
      'a parser and what answers',
      'The app answered',
      (app) => app.use(express.json(), (_request, response, next) => (response.send('done'), next())),
    ],
  ])('behind %s, the fix names that', async (_name, found, mount) => {
    const { receiver, logs } = await started(loopback);
    const app = express();
    mount(app);
    app.use(receiver.middleware());
    const url = await urlOf(app);
    await fetch(url, { method: 'POST', headers: signedHeaders(bodyOf()), body: bodyOf() });
    const [{ fix } = {}] = await logs.until('refusal_fix');
    expect(fix).toContain(found);
  });

  test('behind what makes the answer fail, the delivery is stored, and the log names what failed', async () => {
    const { receiver, logs } = await started(loopback);
    const app = appWithBrokenAnswers(receiver);
    // An unhandled rejection, which would end a process, makes the test fail.
    await expect(post(await urlOf(app))).rejects.toThrow('fetch failed');
    expect((await receiver.events.list()).events).toHaveLength(1);
    const location = expect.stringMatching(/^test\/http\/express\.test\.ts:\d+:\d+$/);
    expect(logs.of('answer_failed')).toMatchObject([{ level: 50, cause: 'Error', location }]);
  });

  test('answers that middleware makes fail do not fill the log', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ ...loopback, clock });
    const app = appWithBrokenAnswers(receiver);
    const url = await urlOf(app);
    // Anybody can send what is refused.
    for (let sent = 0; sent < 20; sent += 1)
      await expect(fetch(url, { method: 'POST' })).rejects.toThrow('fetch failed');
    clock.advance(1_000);
    const lines = logs.of('answer_failed');
    expect(lines.map(({ count }) => count)).toEqual([...Array.from({ length: 5 }), 15]);
    expect(lines.at(-1)).toMatchObject({ cause: 'Error', location: expect.any(String) as string });
  });

  test("behind what makes the API's answer fail, the log names what failed", async () => {
    const { receiver, logs } = await started(loopback);
    const app = express();
    app.use((_request, response, next) => {
      response.writeHead = () => {
        throw new TypeError('no head');
      };
      next();
    });
    app.use(receiver.api({ authorize: () => 'all' }).middleware());
    await expect(fetch(await urlOf(app, '/counts'))).rejects.toThrow('fetch failed');
    const cause = expect.stringMatching(
      /^writing the answer failed: TypeError \(test\/http\/express\.test\.ts:/,
    );
    expect(logs.of('api_failed')).toMatchObject([{ cause }]);
  });

  test.each([10, 2_000, 60_000, 70_000])(
    'behind what reads along, a body of %i bytes and some is read whole',
    { tags: 'long' },
    async (size) => {
      let seen = 0;
      const readAlong: ((request: IncomingMessage) => unknown)[] = [
        (request) => request.on('data', (chunk: Buffer) => (seen += chunk.byteLength)),
        (request) => request.resume(),
        (request) => request.pipe(new PassThrough()).resume(),
        (request) => request.on('readable', () => void request.read()),
        (request) => request.on('readable', () => {}),
        (request) => request.pause(),
      ];
      for (const read of readAlong) {
        const { receiver } = await started(loopback);
        const app = express();
        app.use((request, _response, next) => {
          read(request);
          next();
        });
        app.use(receiver.middleware());
        const body = bodyOf({ payload: { pad: 'x'.repeat(size) } });
        expect((await post(await urlOf(app), body)).json.status).toBe('accepted');
      }
      expect(seen).toBeGreaterThan(size);
    },
  );

  test.each([10, 70_000])('what reads %i bytes instead of it is answered 500', async (size) => {
    const { receiver } = await started(loopback);
    const handler = receiver.middleware();
    const readInstead: ((request: IncomingMessage) => unknown)[] = [
      (request) => request.setEncoding('utf8'),
      (request) => request.setEncoding('utf8').resume(),
    ];
    for (const read of readInstead) {
      const app = express();
      app.use((request, response) => {
        read(request);
        handler(request, response);
      });
      const body = bodyOf({ payload: { pad: 'x'.repeat(size) } });
      expect(await post(await urlOf(app), body)).toMatchObject({
        status: 500,
        json: { error: 'body_already_parsed' },
      });
    }
  });

  test.each<[string, number, (request: IncomingMessage) => unknown]>([
    ['listens to', 10, (request) => request.on('data', () => {})],
    ['decodes', 10, (request) => request.setEncoding('utf8')],
    ['decodes', 70_000, (request) => request.setEncoding('utf8')],
  ])('what %s a body of %i bytes after it was handed over is answered 500', async (_what, size, read) => {
    const { receiver } = await started(loopback);
    const handler = receiver.middleware();
    const app = express();
    app.use((request, response) => {
      handler(request, response);
      read(request);
    });
    const body = bodyOf({ payload: { pad: 'x'.repeat(size) } });
    expect(await post(await urlOf(app), body)).toMatchObject({
      status: 500,
      json: { error: 'body_already_parsed' },
    });
  });

  test(
    'trusts the proxies that the app trusts, unless it has a setting of its own',
    { tags: 'long' },
    async () => {
      const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'calls.example.com' };
      const statusOf = async (trusted: unknown, options: ReceiverOptions) => {
        const { receiver } = await started(options);
        const app = express();
        app.set('trust proxy', trusted);
        app.use(receiver.middleware());
        const body = bodyOf();
        return (await post(await urlOf(app), body, { ...signedHeaders(body), ...headers })).status;
      };
      expect(await statusOf('loopback', {})).toBe(200);
      expect(await statusOf(1, {})).toBe(200);
      expect(await statusOf('10.0.0.0/8', {})).toBe(403);
      expect(await statusOf(false, {})).toBe(403);
      expect(await statusOf(false, { https: { trustProxy: 'loopback' } })).toBe(200);
      expect(await statusOf('loopback', { https: { trustProxy: false } })).toBe(403);
    },
  );
});
