// @module-tag long
import Database from 'better-sqlite3';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listening } from '../support/servers.ts';
import { appOf, backtest, bytesIn, leftIn, rewrite, settingIn, workedOn } from './backtest-support.ts';
import { Running, folder, ringback, ringbackProcess } from './command.ts';

const one = [{ fixture: 'call-ended', traceId: 't-1' }] as const;

/** An app that asks a server of this machine for something, in several ways. */
function asking(port: number): string {
  return `import { get } from 'node:http';
    import { connect } from 'node:net';
    import { lookup } from 'node:dns/promises';
    import { createSocket } from 'node:dgram';
    const url = 'http://127.0.0.1:${port}/';
    const failed = (emitter) => new Promise((done, fail) => {
      emitter.once('error', (error) => fail(new Error('the CRM is down', { cause: error })));
      emitter.once('connect', () => { emitter.destroy(); done(); });
      emitter.once('response', (response) => { response.resume(); response.once('end', done); });
    });
    export default (r) => {
      r.on('*', { name: 'fetch' }, async () => { await (await fetch(url)).text(); });
      r.on('*', { name: 'http' }, () => failed(get(url)));
      r.on('*', { name: 'net' }, () => failed(connect(${port}, '127.0.0.1')));
      r.on('*', { name: 'dns' }, async () => { await lookup('localhost'); });
      r.on('*', { name: 'dgram' }, () => new Promise((done, fail) => {
        const socket = createSocket('udp4');
        socket.send('x', ${port}, '127.0.0.1', (error) => { socket.close(); if (error) fail(error); else done(); });
      }));
      r.on('*', { name: 'swallows' }, () => fetch(url).then((response) => response.text(), () => {}));
    };`;
}

describe('the process of a backtest', () => {
  it('refuses the network unless it is allowed, and judges no run by that', async () => {
    let requests = 0;
    const port = await listening((_request, response) => {
      requests += 1;
      response.end();
    });
    const cwd = await workedOn(asking(port), one);
    const refused = await backtest(cwd);
    expect([refused.code, requests]).toEqual([0, 0]);
    expect(refused.stderr).toContain('is not known: 5. To let them, pass --allow-network');
    expect(refused.reports.map(({ handler, now }) => [handler, now.refused, now.done])).toEqual([
      ['fetch', 1, 0],
      ['http', 1, 0],
      ['net', 1, 0],
      ['dns', 1, 0],
      ['dgram', 1, 0],
      ['swallows', 0, 1],
    ]);
    expect(refused.reports[0]?.errors).toMatchObject([{ ending: 'refused', cause: 'network_refused' }]);
    expect(refused.reports[1]?.errors).toMatchObject([
      { message: expect.stringMatching(/^the CRM is down: network refused in a backtest/v) },
    ]);
    const allowed = await backtest(cwd, '--allow-network');
    expect(allowed.reports.map(({ now }) => now.done)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(requests).toBe(3);
  });

  it('refuses the network in worker threads of the app too', async () => {
    const cwd = await workedOn(
      `import { Worker } from 'node:worker_threads';
      export default (r) => r.on('*', { name: 'thread' }, () => new Promise((done, fail) => {
        new Worker(new URL('thread.mjs', import.meta.url)).once('error', fail).once('exit', done);
      }));`,
      one,
    );
    writeFileSync(join(cwd, 'thread.mjs'), "await fetch('http://127.0.0.1:9/');");
    expect(await backtest(cwd)).toMatchObject({ code: 0, reports: [{ now: { refused: 1 } }] });
  });

  it('keeps what the app prints, and what it sends to its parent process, out of the report', async () => {
    const app = `process.stdout.write('written '); console.log('logged'); process.send?.('ready');
      r.on('*', { name: 'a' }, () => { process.send?.({ exitCode: 0 }); });`;
    const { code, stderr, reports } = await backtest(await workedOn(appOf(app), one), '--handler', 'a');
    expect([code, reports]).toMatchObject([0, [{ now: { done: 1 } }]]);
    expect(stderr).toContain('written ');
    expect(stderr).toContain('logged');
  });

  it('says why an app file does not load', async () => {
    const cwd = await workedOn('export const handlers = 1;', one);
    expect(await backtest(cwd)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^ringback: The app file app\.ts should have a default export/v),
      reports: [],
    });
    rewrite(cwd, "import 'no-such-package'; export default () => {};");
    expect(await backtest(cwd)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no-such-package'),
    });
    const missing = await ringback(['backtest', '--app', 'none.ts'], settingIn(cwd));
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('there is no such file')]);
    expect(leftIn(cwd)).toEqual([]);
  });

  it('says during which run the app has ended it', async () => {
    const cwd = await workedOn(appOf("r.on('*', { name: 'quits' }, () => process.exit(0));"), one);
    const { code, stderr } = await backtest(cwd);
    expect(code).toBe(1);
    expect(stderr).toContain('ended while the handler quits ran for the event t-1');
    expect(stderr).toContain('its process ended: with the exit code 0.');
  });

  it('says so too if an unhandled rejection has ended it', async () => {
    const cwd = await workedOn(
      appOf("r.on('*', { name: 'forgets' }, () => void Promise.reject(new Error('nobody')));"),
      [...one, { fixture: 'call-ended', traceId: 't-2' }],
    );
    const { code, stderr } = await backtest(cwd);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('ended while the handler forgets ran for the event t-1'),
    ]);
  });

  it('runs a join of a call with more events than a function takes arguments', async () => {
    const cwd = await workedOn(
      appOf("r.onCall({ name: 'journal', events: ['CallHandler.CallEnded'], within: '1h' }, () => {});"),
      [{ fixture: 'call-ended', traceId: 't-1' }],
    );
    const inbox = new Database(join(cwd, 'ringback.db'));
    inbox.exec(`
      create temp table numbers as
        with recursive counted (n) as (select 2 union all select n + 1 from counted where n < 16000) select n from counted;
      insert into events select n, 't-' || n, event_name, call_id, call_key, organization_id, agent_id, occurred_at,
        received_at, facts, source from events, numbers where sequence = 1;
      insert into bodies select n, headers, body from bodies, numbers where sequence = 1;
      update event_totals set last_sequence = 16000, events = 16000`);
    inbox.close();
    const small = { ...settingIn(cwd), node: ['--stack-size=100'] };
    const { code, stdout, stderr } = await ringbackProcess(['backtest', '--app', 'app.ts'], small);
    expect([code, stderr, JSON.parse(stdout)]).toMatchObject([0, '', { runs: 1, now: { done: 1 } }]);
  });

  it('needs an app file, and an inbox in a file', async () => {
    const cwd = await workedOn(appOf(''), one);
    const run = (...args: readonly string[]) => ringback(['backtest', ...args], settingIn(cwd));
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining("'--app <file>'") });
    expect(await run('--app', 'app.ts', '--from', 'none.db')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no such file'),
    });
    const postgres = await run('--app', 'app.ts', '--from', 'postgres://user:secret@db.example/app');
    expect(postgres).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Postgres can.?not be backtested yet/v),
    });
    expect(postgres.stderr).not.toContain('secret');
    const full = await ringback(['backtest', '--app', 'app.ts'], {
      cwd,
      env: { TMPDIR: join(folder(), 'missing') },
    });
    expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('TMPDIR')]);
  });

  // One that computes notices nothing, so it can't notice either that the command was killed.
  it.each([
    ['SIGINT', 'computes', 'for (;;);'],
    ['SIGTERM', 'computes', 'for (;;);'],
    ['SIGHUP', 'computes', 'for (;;);'],
    ['SIGKILL', 'waits', 'await new Promise(() => {});'],
  ] as const)(
    'when %s comes, is ended, and its copy removed, while a handler %s',
    async (signal, _, work) => {
      const app =
        `import { writeFileSync } from 'node:fs'; ` +
        appOf(
          `r.on('*', { name: 'long' }, async () => { writeFileSync('pid', String(process.pid)); console.error('begun'); ${work} });`,
        );
      const cwd = await workedOn(app, one);
      const before = bytesIn(cwd);
      const command = new Running(['backtest', '--app', 'app.ts'], settingIn(cwd));
      await command.said('begun');
      const pid = readFileSync(join(cwd, 'pid'), 'utf8');
      expect(leftIn(cwd)).toHaveLength(1);
      command.child.kill(signal);
      const { code, stdout } = await command.ended();
      expect([code, stdout]).toEqual([signal === 'SIGINT' || signal === 'SIGTERM' ? 1 : null, '']);
      await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
      expect([leftIn(cwd), bytesIn(cwd).equals(before)]).toEqual([[], true]);
    },
  );
});
