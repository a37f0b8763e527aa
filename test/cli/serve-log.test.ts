// @module-tag long
import { describe, expect, it } from 'vitest';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { type Running, folder, secret, serveProcess } from './command.ts';

const many = 500;

/**
 * An app whose only handler logs many numbered lines and then runs the code in `does`. The lines come after an `await`:
 * on a slow machine, so many before it would bring one more, `handler_blocking`.
 */
function appThat(does: string, { lines = many, message = 'noise' } = {}): string {
  return `
    export default (receiver) => {
      receiver.on('*', { name: 'noisy' }, async (event, ctx) => {
        await null;
        for (let line = 1; line <= ${lines}; line += 1) ctx.log.info({ line }, '${message}');
        ${does}
      });
    };
  `;
}

function serving(app: string): Running {
  // A database in memory starts sooner.
  return serveProcess(['--app', 'app.mjs', '--database', ':memory:'], { cwd: folder({ 'app.mjs': app }) });
}

function deliver(url: string): Promise<{ status: number }> {
  return deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }));
}

function numbersIn(stdout: string): number[] {
  return [...stdout.matchAll(/"line":(\d+),/g)].map(([, line]) => Number(line));
}

const all = Array.from({ length: many }, (_each, index) => index + 1);

describe('the log of serve', () => {
  it.each([
    ['a handler ends the process', 'process.exit(3);', 3],
    ['the app throws where nobody catches', "setImmediate(() => { throw new Error('no CRM'); });", 1],
    ['the app leaves a rejection to nobody', "void Promise.reject(new Error('no CRM'));", 1],
    ['a terminal is closed', "process.kill(process.pid, 'SIGHUP');", null],
    ['it is asked to quit', "process.kill(process.pid, 'SIGQUIT');", null],
    ['it is told to stop', "process.kill(process.pid, 'SIGTERM');", 0],
  ])('loses no line when %s', async (_what, does, expected) => {
    const running = serving(appThat(does));
    // If the process ends before it has answered, the delivery rejects.
    await deliver(await running.url()).catch(() => {});
    const { code, stdout } = await running.ended();
    expect(code).toBe(expected);
    expect(numbersIn(stdout)).toEqual(all);
  });

  it('comes while nothing else happens, and leaves a signal to an app that listens to it', async () => {
    const running = serving(
      appThat("process.on('SIGHUP', () => ctx.log.info('heard')); process.kill(process.pid, 'SIGHUP');"),
    );
    await deliver(await running.url());
    await running.line('"msg":"heard"');
    await running.logged('run_done');
    expect(numbersIn(running.stdout)).toEqual(all);
    running.child.kill('SIGTERM');
    const { code, stdout } = await running.ended();
    expect({ code, heard: stdout.match(/"msg":"heard"/g)?.length }).toEqual({ code: 0, heard: 1 });
  });

  it('says at once that it listens', async () => {
    const app = `
      import { subscribe } from 'node:diagnostics_channel';
      const waitForEver = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      subscribe('ringback.listening', () => setImmediate(waitForEver));
      export default () => {};
    `;
    expect(await serving(app).logged('listening')).toMatchObject({ level: 30 });
  });

  it('goes to what was put in the place of stdout', async () => {
    const preload = `
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (text, ...rest) => write('seen ' + text, ...rest);
    `;
    const cwd = folder({ 'preload.mjs': preload });
    const running = serveProcess([], { cwd, node: ['--import', './preload.mjs'] });
    expect(await running.line('"event":"listening"')).toMatch(/^seen \{/);
  });

  it('blocks nothing when nobody reads it, and reports how much was dropped', async () => {
    const lines = 10_000;
    const running = serving(appThat('', { lines, message: 'noise '.repeat(200) }));
    const url = await running.url();
    running.child.stdout?.pause();
    expect((await deliver(url)).status).toBe(200);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    running.child.stdout?.resume();
    const { count, level } = await running.logged('log_dropped');
    running.child.kill('SIGTERM');
    const { code, stdout } = await running.ended();
    expect({ code, level }).toEqual({ code: 0, level: 40 });
    const numbers = numbersIn(stdout);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(numbers.length).toBeLessThan(lines);
    // The receiver's own lines about the event may have been dropped as well, and are then in the count.
    const dropped = ['run_done', 'scheme_pinned'].filter((event) => !stdout.includes(`"event":"${event}"`));
    expect(numbers.length + Number(count)).toBe(lines + dropped.length);
  });

  it('may lose its reader without ending the process', async () => {
    const running = serving(appThat(''));
    const url = await running.url();
    running.child.stdout?.destroy();
    expect((await deliver(url)).status).toBe(200);
    expect(await deliver(url)).toEqual({
      status: 200,
      body: { status: 'duplicate', traceId: 'trace-call-ended' },
    });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    running.child.kill('SIGTERM');
    expect(await running.ended()).toMatchObject({ code: 0, stderr: '' });
  });
});
