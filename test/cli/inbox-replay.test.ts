import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliver } from '../../src/testing/deliver.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import { ManualClock } from '../support/clock.ts';
import { concurrently } from '../support/concurrently.ts';
import { HostedCommand, Running, folder, main, ringback, ringbackProcess, secret } from './command.ts';
import { appWith, env, inboxWithTrouble, linesOf } from './inbox-support.ts';

const deadOnes = ['--state', 'dead', '--app', 'app.mjs'];

describe('ringback inbox replay', () => {
  it('replays with --yes', async () => {
    const cwd = await inboxWithTrouble();
    const asked = await ringback(['inbox', 'replay', ...deadOnes], { env, cwd });
    expect(asked).toMatchObject({
      code: 0,
      stderr: 'ringback: Nothing was run. To run these again, add --yes.\n',
    });
    expect(JSON.parse(asked.stdout)).toMatchObject({ runs: 1, handlers: { journal: 1 } });
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toHaveLength(1);
    const meant = [...deadOnes, '--yes', '--by', 'somebody', '--reason', 'mended'];
    const { code, stdout, stderr } = await ringback(['inbox', 'replay', ...meant], { env, cwd });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { id: 1, runs: 1 }]);
    expect(stderr).toMatch(/^ringback: runs requeued: 0 done, 0 dead, 1 still waiting/v);
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toEqual([]);
  });

  it(
    'leaves events alone that wait for their first attempt, with and without --yes',
    { tags: 'long' },
    async () => {
      const logs = "(event, ctx) => { console.log(ctx.replay ? 'again' : 'for the first time'); }";
      const cwd = folder({ 'app.mjs': appWith(logs) });
      // Time stands still: on a busy machine, one of many writes may take longer than its sender waits.
      const clock = new ManualClock();
      const collecting = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db'), clock });
      await collecting.start();
      // So many that a handler would run before the last of them is looked at.
      const waiting = Array.from({ length: 300 }, (_, index) => `t-${index}`);
      await concurrently(waiting, 50, async (traceId) => {
        const delivery = buildDelivery('call-ended', { secret, traceId });
        expect(await deliver(collecting, delivery)).toMatchObject({ status: 200 });
      });
      await collecting.stop();
      const lastDay = ['inbox', 'replay', '--since', '1d', '--app', 'app.mjs'];
      const asked = await ringback(lastDay, { env, cwd });
      expect(asked).toMatchObject({ code: 0, stderr: 'ringback: no run matches\n' });
      const counted = await ringback(['inbox', 'counts'], { env, cwd });
      expect(JSON.parse(counted.stdout)).toMatchObject({ events: { new: 300, done: 0 } });
      const { stdout, stderr } = await ringback([...lastDay, '--yes', '--wait'], { env, cwd });
      expect(JSON.parse(stdout)).toMatchObject({ events: 0, runs: 0 });
      expect(stderr).toBe('ringback: no run matches\n');
    },
  );

  it('waits for what it has requeued, and fails unless all of it is done', { tags: 'long' }, async () => {
    const meant = ['inbox', 'replay', ...deadOnes, '--yes', '--wait'];
    const handled = await ringback(meant, { env, cwd: await inboxWithTrouble() });
    expect(handled).toMatchObject({
      code: 0,
      stderr: 'ringback: runs requeued: 1 done, 0 dead, 0 still waiting\n',
    });
    const dying = "() => { throw new Discard('full still'); }";
    // In a process of its own, because the log of what dies is written past its streams.
    const given = await ringbackProcess(meant, { env, cwd: await inboxWithTrouble({ app: appWith(dying) }) });
    expect([given.code, given.stderr]).toEqual([1, expect.stringContaining('0 done, 1 dead, 0 still')]);
    expect(JSON.parse(given.stdout)).toMatchObject({ id: 1, runs: 1 });
  });

  it('continues at a rate until all is requeued', { tags: 'long' }, async () => {
    const meant = [
      'inbox',
      'replay',
      '--event-name',
      'CallHandler.CallEnded',
      '--app',
      'app.mjs',
      '--rate',
      '5',
    ];
    // In a process of its own: between two steps, nothing else keeps that alive.
    const { code, stdout } = await ringbackProcess([...meant, '--yes'], {
      env,
      cwd: await inboxWithTrouble(),
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { state: 'done', runs: 2 }]);
  });

  it('is stopped by another command, which says how far it has come', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db') });
    receiver.on('*', { name: 'journal' }, () => {});
    await receiver.start();
    await deliver(receiver, buildDelivery('call-ended', { secret, traceId: 'another' }));
    const replaying = receiver.events.replay({ since: 0 }, { rate: 0.001 });
    const audited = async () => JSON.parse((await ringback(['inbox', 'audit'], { env, cwd })).stdout);
    await expect.poll(audited).toMatchObject({ id: 1, runs: 1, progress: { state: 'running' } });
    const stop = ['inbox', 'stop', '1', '--by', 'ann'];
    const { code, stdout } = await ringback(stop, { env, cwd });
    expect([code, JSON.parse(stdout)]).toEqual([0, { id: 1, stopped: true }]);
    expect(await replaying).toMatchObject({ state: 'stopped', runs: 1 });
    expect(await ringback(stop, { env, cwd })).toMatchObject({
      stdout: '{"id":1,"stopped":false}',
      stderr: 'ringback: it was not in progress\n',
    });
    expect(await ringback(['inbox', 'stop', 'one'], { env, cwd })).toMatchObject({ code: 2 });
    await receiver.stop();
  });

  it('waits no longer when a signal comes, and says who runs the rest', { tags: 'long' }, async () => {
    const later = "() => { throw new RetryLater('1h', 'full still'); }";
    const cwd = await inboxWithTrouble({ app: appWith(later) });
    const waiting = new Running(['inbox', 'replay', ...deadOnes, '--yes', '--wait'], { env, cwd });
    await waiting.line('"id":1');
    waiting.child.kill('SIGINT');
    const { code, stderr } = await waiting.ended();
    expect([code, stderr]).toEqual([
      1,
      'ringback: runs requeued: 0 done, 0 dead, 1 still waiting. A receiver on this database runs the waiting ones\n',
    ]);
  });

  it('keeps what the app prints away from the result of a replay', { tags: 'long' }, async () => {
    const talkative = "() => { console.log('in a run'); }";
    const cwd = await inboxWithTrouble({ app: `console.info('loaded');\n${appWith(talkative)}` });
    const meant = ['inbox', 'replay', ...deadOnes, '--yes', '--wait'];
    const { stdout, stderr } = await ringback(meant, { env, cwd });
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, runs: 1 });
    expect(stderr).toMatch(/^loaded\nin a run\nringback: /v);
  });

  it(
    'ends its own runs when a signal comes in the middle, so that none looks as if a process had died over it',
    { tags: 'long' },
    async () => {
      const slow =
        "async () => { console.log('begun'); await new Promise((resolve) => setTimeout(resolve, 300)); }";
      const cwd = await inboxWithTrouble({ app: appWith(slow) });
      const meant = [...deadOnes, '--yes', '--wait'];
      const replaying = new HostedCommand(['inbox', 'replay', ...meant], { env, cwd });
      await replaying.said('begun');
      expect((await replaying.stop()).stderr).toContain('1 done, 0 dead, 0 still waiting');
      expect(await linesOf(cwd, 'events', '--trace-id', 't-dead')).toMatchObject([
        { runs: [{ attempts: 1 }] },
      ]);
    },
  );

  it('completes although nobody reads the result', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    const replay = [...deadOnes, '--yes', '--wait'].join(' ');
    const command = `"${process.execPath}" "${main}" inbox replay ${replay} | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout } = spawn('bash', ['-c', command], { cwd, env: { ...process.env, ...env } });
    expect(await text(stdout)).toBe('0\n');
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toEqual([]);
  });
});
