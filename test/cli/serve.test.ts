import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { HostedCommand, exampleApp, folder, otherSecret, secret, serve, serveProcess } from './command.ts';
import { exchanged } from '../support/servers.ts';

const accepted = { status: 200, body: { status: 'accepted', traceId: 'trace-call-ended' } };

/** An app whose only handler says when it begins, and ends when there is a file named `gate`. */
const gatedApp = `
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
export default (receiver) => {
  receiver.on('*', { name: 'gated' }, async (event, ctx) => {
    ctx.log.info('begun');
    while (!existsSync('gate')) await setTimeout(5);
    ctx.log.info('ended');
  });
};
`;

/** The status of the answer to a delivery with this `Host` header; `fetch` allows only the URL's host. */
async function posted(
  url: string,
  { body, headers }: ReturnType<typeof buildDelivery>,
  host = 'calls.example.com',
): Promise<number | undefined> {
  const sending = request(`${url}/webhooks`, { method: 'POST', headers: { ...headers, host } });
  sending.end(body);
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

describe('serve', () => {
  it(
    'accepts deliveries at its path, signed with any of its secrets, and answers health checks',
    { tags: 'long' },
    async () => {
      const url = await serve([], { env: { RINGBACK_SECRETS: ` ${secret} , ${otherSecret} ` } }).url();
      expect(await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }))).toEqual(accepted);
      const other = buildDelivery('call-ended', { secret: otherSecret });
      expect((await deliverTo(`${url}/webhooks`, other)).status).toBe(200);
      expect(await deliverTo(`${url}/elsewhere`, buildDelivery('call-ended', { secret }))).toEqual({
        status: 404,
        body: { error: 'not_found' },
      });
      const health = await fetch(`${url}/healthz`);
      expect({ status: health.status, body: await health.json() }).toEqual({
        status: 200,
        body: { status: 'alive' },
      });
      expect(health.headers.get('x-powered-by')).toBeNull();
      const ready = await fetch(`${url}/readyz`);
      expect({ status: ready.status, body: await ready.json() }).toEqual({
        status: 200,
        body: { status: 'ready' },
      });
    },
  );

  it('refuses plain HTTP unless allowed, or a trusted proxy says https', { tags: 'long' }, async () => {
    const delivery = buildDelivery('call-ended', { secret, headers: { 'x-forwarded-proto': 'https' } });
    const untrusting = serve([], { env: { RINGBACK_INSECURE_HTTP: 'false' } });
    expect((await deliverTo(`${await untrusting.url()}/webhooks`, delivery)).status).toBe(403);
    await untrusting.stop();
    const trusting = serve(['--trust-proxy', 'loopback'], { env: { RINGBACK_INSECURE_HTTP: 'false' } });
    const atName = (await trusting.url()).replace('127.0.0.1', 'localhost');
    expect(await deliverTo(`${atName}/webhooks`, delivery)).toEqual(accepted);
  });

  it('takes options of the receiver from the app file, behind its own', { tags: 'long' }, async () => {
    const app = `
      export const options = {
        headers: undefined, secrets: () => '${otherSecret}', tolerance: '1h', https: { required: false, hosts: ['calls.example.com'] },
      };
      export default () => {};`;
    const early = { timestamp: Date.now() - 1_800_000 };
    const cwd = folder({ 'app.mjs': app });
    const start = (env: Readonly<Record<string, string>>) =>
      new HostedCommand(['serve', '--app', 'app.mjs', '--port', '0'], { cwd, env });

    const byApp = start({});
    const url = await byApp.url();
    const answers = [secret, otherSecret].map((each) =>
      posted(url, buildDelivery('call-ended', { ...early, secret: each })),
    );
    expect(await Promise.all(answers)).toEqual([401, 200]);
    await byApp.stop();

    const byEnvironment = start({ RINGBACK_SECRETS: secret });
    const again = await byEnvironment.url();
    const later = { ...early, traceId: 'trace-later', secret };
    expect(await posted(again, buildDelivery('call-ended', later))).toBe(200);
    expect(await posted(again, buildDelivery('call-ended', later), '127.0.0.1')).toBe(421);
    await byEnvironment.stop();

    const strict = start({ RINGBACK_SECRETS: secret, RINGBACK_INSECURE_HTTP: 'false' });
    expect(await posted(await strict.url(), buildDelivery('call-ended', later))).toBe(403);
  });

  it('takes what the app file leaves undefined from the environment', async () => {
    const app = "export const options = { secrets: undefined, tolerance: '10m' };\nexport default () => {};";
    const url = await serve(['--app', 'app.mjs'], { cwd: folder({ 'app.mjs': app }) }).url();
    expect(await posted(url, buildDelivery('call-ended', { secret }))).toBe(200);
  });

  it('warns once of a delivery to another path, and not of other requests or a target that is no path', async () => {
    const running = serve();
    const url = await running.url();
    const answer = await exchanged(Number(new URL(url).port), (write) =>
      write('POST http://[::1/webhooks HTTP/1.1\r\nhost: a.example\r\ncontent-length: 0\r\n\r\n'),
    );
    expect(answer).toContain('HTTP/1.1 400');
    expect(answer).toContain('{"error":"bad_target"}');
    const { body } = buildDelivery('call-ended', { secret });
    await fetch(`${url}/wp-login`, { method: 'POST', body: new Uint8Array(body) });
    await fetch(`${url}/looking`, { headers: { 'x-webhook-event': 'CallHandler.CallEnded' } });
    expect(running.stdout).not.toContain('delivery_misdirected');
    for (const path of ['/hooks', '/']) await deliverTo(url + path, buildDelivery('call-ended', { secret }));
    await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }));
    const { stdout, stderr } = await running.stop();
    expect(stderr).toMatch(/^ringback: no app file is set[^\n]*\n$/);
    const misdirected = stdout.split('\n').filter((line) => line.includes('delivery_misdirected'));
    expect(misdirected.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: 40, path: '/webhooks' },
    ]);
  });

  it(
    'prefers its options to the environment, and says without an app file that nothing is handled',
    { tags: 'long' },
    async () => {
      const cwd = folder();
      const env = { RINGBACK_PATH: '/there', RINGBACK_DATABASE: 'there.db', RINGBACK_HOST: '192.0.2.1' };
      const running = serve(['--path', '/here', '--database', 'here.db', '--host', '127.0.0.1'], {
        env,
        cwd,
      });
      const url = await running.url();
      expect((await running.logged('listening'))['path']).toBe('/here');
      expect((await deliverTo(`${url}/here`, buildDelivery('call-ended', { secret }))).status).toBe(200);
      expect([existsSync(join(cwd, 'here.db')), existsSync(join(cwd, 'there.db'))]).toEqual([true, false]);
      const { code, stderr } = await running.stop();
      expect(code).toBe(0);
      expect(stderr).toMatch(/^ringback: no app file is set, .* Set --app or RINGBACK_APP .*\n$/);
    },
  );

  it('takes nothing for its own of what Kubernetes sets beside a service of its name', async () => {
    // The line `listening` is written at every log level.
    const url = await serve(['--port', '0'], {
      env: {
        RINGBACK_LOG_LEVEL: 'error',
        RINGBACK_SERVICE_HOST: '10.0.0.1',
        RINGBACK_SERVICE_PORT: '8080',
        RINGBACK_SERVICE_PORT_HTTP: '8080',
        RINGBACK_PORT: 'tcp://10.0.0.1:8080',
        RINGBACK_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
        RINGBACK_PORT_8080_TCP_ADDR: '10.0.0.1',
        RINGBACK_DB_PORT: 'tcp://10.0.0.2:5432',
      },
    }).url();
    expect((await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }))).status).toBe(200);
  });

  it('takes the secrets of a file that changes while it runs', { tags: 'long' }, async () => {
    const cwd = folder({ secrets: `# the subscription's\r\n${secret} # since March\r\n` });
    const env = { RINGBACK_SECRETS_FILE: 'secrets', RINGBACK_PORT: '0', RINGBACK_INSECURE_HTTP: '1' };
    const url = await new HostedCommand(['serve'], { env, cwd }).url();
    const statusOf = async (signedWith: string) =>
      (await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret: signedWith }))).status;
    expect(await statusOf(secret)).toBe(200);
    expect(await statusOf(otherSecret)).toBe(401);
    writeFileSync(join(cwd, 'secrets'), otherSecret);
    await expect.poll(() => statusOf(otherSecret), { interval: 100 }).toBe(200);
    expect(await statusOf(secret)).toBe(401);
  });

  it(
    'lets a delivery that is in flight be answered, and closes its connection',
    { tags: 'long' },
    async () => {
      const running = serve();
      const { body, headers } = buildDelivery('call-ended', { secret });
      const sending = request(`${await running.url()}/webhooks`, {
        method: 'POST',
        headers: {
          ...headers,
          'content-length': body.byteLength,
          expect: '100-continue',
          connection: 'keep-alive',
        },
      });
      const answered = new Promise<IncomingMessage>((resolve) => sending.once('response', resolve));
      sending.flushHeaders();
      await new Promise<void>((resolve) => sending.once('continue', resolve));
      const stopped = running.stop();
      await running.logged('receiver_stopping');
      sending.end(body);
      const answer = await answered;
      answer.resume();
      expect({ status: answer.statusCode, connection: answer.headers.connection }).toEqual({
        status: 200,
        connection: 'close',
      });
      expect((await stopped).code).toBe(0);
    },
  );
});

describe('a signal', () => {
  async function endsOnceHandlersHaveEnded(signal: 'SIGTERM' | 'SIGINT'): Promise<void> {
    const cwd = folder({ 'app.mjs': gatedApp });
    const running = serveProcess(['--app', 'app.mjs'], { cwd });
    const url = await running.url();
    expect((await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }))).status).toBe(200);
    await running.line('"msg":"begun"');
    running.child.kill(signal);
    await running.logged('receiver_stopping');
    await expect(deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }))).rejects.toMatchObject(
      {
        code: 'delivery_unsent',
      },
    );
    expect(running.stdout).not.toContain('"msg":"ended"');
    writeFileSync(join(cwd, 'gate'), '');
    const { code, stdout, stderr } = await running.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/"msg":"ended".*"event":"run_done".*"event":"receiver_stopped"/s);
  }

  it('SIGTERM ends it with 0 once the handlers have ended', () => endsOnceHandlersHaveEnded('SIGTERM'));

  it('SIGINT ends it with 0 once the handlers have ended', { tags: 'long' }, () =>
    endsOnceHandlersHaveEnded('SIGINT'),
  );

  it('ends it with 1 at once when it is the second one', { tags: 'long' }, async () => {
    const running = serveProcess(['--app', 'app.mjs'], { cwd: folder({ 'app.mjs': gatedApp }) });
    await deliverTo(`${await running.url()}/webhooks`, buildDelivery('call-ended', { secret }));
    await running.line('"msg":"begun"');
    running.child.kill('SIGTERM');
    await running.logged('receiver_stopping');
    running.child.kill('SIGTERM');
    const { code, stdout } = await running.ended();
    expect(code).toBe(1);
    expect(stdout).not.toContain('"event":"receiver_stopped"');
  });
});

test('a signal ends it while an app file never finishes loading', async () => {
  const app = `console.log('"msg":"loading"'); setInterval(() => {}, 1_000); await new Promise(() => {});`;
  const running = serveProcess(['--app', 'app.mjs'], { cwd: folder({ 'app.mjs': app }) });
  await running.line('"msg":"loading"');
  running.child.kill('SIGTERM');
  expect((await running.ended()).code).toBe(0);
});

describe('an app file', () => {
  const handlers = `
    receiver.on('CallHandler.CallEnded', { name: 'giving-up' }, () => { throw new Discard('of no use'); });
  `;

  it.each([
    ['app.js', "import { Discard } from 'ringback'; export default (receiver) => {", '};'],
    ['app.cjs', "const { Discard } = require('ringback'); module.exports = (receiver) => {", '};'],
    [
      'app.ts',
      "import { Discard, type Receiver } from 'ringback'; export default (receiver: Receiver) => {",
      '};',
    ],
    [
      'enum.ts',
      "import { Discard, type Receiver } from 'ringback'; enum Kind { A = 'a' } export default (receiver: Receiver) => { void Kind.A;",
      '};',
    ],
    [
      'neighbour.ts',
      "import { Discard, type Receiver } from 'ringback'; import { answer } from './helper.js'; export default (receiver: Receiver) => { void answer;",
      '};',
    ],
    [
      'built.cjs',
      "const { Discard } = require('ringback'); exports.__esModule = true; exports.default = (receiver) => {",
      '};',
    ],
  ])('%s loads, and is given the Ringback that runs it', { tags: 'long' }, async (file, before, after) => {
    const cwd = folder({
      [file]: before + handlers + after,
      'helper.ts': 'export const answer: number = 42;',
    });
    const running = serve(['--app', file], { cwd });
    await deliverTo(`${await running.url()}/webhooks`, buildDelivery('call-ended', { secret }));
    expect(await running.logged('run_dead')).toMatchObject({
      handler: 'giving-up',
      attempt: 1,
      cause: 'Discard',
    });
  });

  it('of the example handles one event of each kind', { tags: 'long' }, async () => {
    const running = serve([], { env: { RINGBACK_APP: exampleApp } });
    const url = await running.url();
    const names = [
      'story-1-call-started',
      'story-2-call-ended',
      'story-3-pca-completed',
      'call-transferred-flat',
    ];
    for (const name of [...names, 'unknown-event', 'missing-call-id']) {
      await deliverTo(`${url}/webhooks`, buildDelivery(name, { secret }));
    }
    await running.line('wrote when the call began');
    await running.line('wrote when the call ended');
    await running.line('wrote the result of the analysis');
    await running.line('would tell the person who takes the call over');
    await running.line('no handler takes CallHandler.CallPaused');
    await running.line('no handler takes CallHandler.CallEnded');
  });
});
