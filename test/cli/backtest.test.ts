import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliverTo } from '../../src/testing/deliver.ts';
import type { HandlerReport } from '../../src/cli/backtest/tally.ts';
import { appOf, backtest, bytesIn, leftIn, settingIn, workedOn } from './backtest-support.ts';
import { ringback, secret, serve } from './command.ts';

const nothing = { done: 0, discarded: 0, dead: 0, open: 0, none: 0 };
const none = { done: 0, discarded: 0, retried: 0, failed: 0, refused: 0, waiting: 0 };
const journal = "r.on('*', { name: 'journal' }, () => {});";

describe('ringback backtest', () => {
  it('says what a handler would have done, beside what happened then', async () => {
    const cwd = await workedOn(appOf(journal));
    expect(await backtest(cwd)).toEqual({
      code: 0,
      stderr: '',
      reports: [
        {
          handler: 'journal',
          runs: 3,
          now: { ...none, done: 3 },
          past: { ...nothing, done: 2, discarded: 1 },
          worse: 0,
          better: 1,
          errors: [],
          rows: {},
        },
      ],
    });
  });

  it('counts a dismissed run as given up, not as done', { tags: 'long' }, async () => {
    const cwd = await workedOn(
      appOf(
        "r.on('*', { name: 'journal' }, (e) => { if (e.traceId === 't-dead') throw new Discard('full'); });",
      ),
    );
    await ringback(['inbox', 'dismiss', '--state', 'dead', '--reason', 'known', '--yes'], settingIn(cwd));
    expect(await backtest(cwd)).toMatchObject({
      code: 0,
      reports: [{ past: { ...nothing, done: 2, discarded: 1 }, worse: 0, errors: [{ worse: 0 }] }],
    });
  });

  it('marks a handler that is new, and says which is removed', { tags: 'long' }, async () => {
    const cwd = await workedOn(appOf("r.on('CallHandler.CallEnded', { name: 'added' }, () => {});"));
    expect(await backtest(cwd)).toMatchObject({
      code: 0,
      stderr: 'ringback: handlers that ran then but are not in this app: journal\n',
      reports: [{ handler: 'added', runs: 2, now: { done: 2 }, past: { ...nothing, none: 2 }, worse: 0 }],
    });
  });

  it(
    'fails if a kind of event fails that went well then, and groups the errors',
    { tags: 'long' },
    async () => {
      const failing = `r.on('*', { name: 'journal' }, (event) => {
      if (event.eventName !== 'CallHandler.CallEnded') return;
      throw new TypeError(\`no account for \${event.callId}\`);
    });`;
      const cwd = await workedOn(appOf(failing));
      const { code, stderr, reports } = await backtest(cwd);
      expect([code, stderr]).toEqual([1, 'ringback: runs that were done then but would fail now: 1\n']);
      expect(reports).toMatchObject([
        {
          runs: 3,
          now: { ...none, done: 1, failed: 2 },
          worse: 1,
          better: 0,
          errors: [{ runs: 2, worse: 1 }],
        },
      ]);
      const [error] = reports[0]?.errors ?? [];
      expect(error).toMatchObject({ ending: 'failed', cause: 'TypeError', message: 'no account for …' });
      expect(error?.traceId).toBe('t-well');
      expect(error?.location).toMatch(/^app\.ts:\d+:\d+$/v);
    },
  );

  it('tells discarding from asking for a later attempt and from failing', { tags: 'long' }, async () => {
    const cwd = await workedOn(
      appOf(`
      r.on('CallHandler.CallEnded', { name: 'discards' }, () => { throw new Discard('of no use'); });
      r.on('CallHandler.CallEnded', { name: 'waits' }, () => { throw new RetryLater('5m'); });
      r.on('CallHandler.CallEnded', { name: 'hangs', timeout: '20ms' }, () => new Promise(() => {}));
      // What such a statement has written could not be undone.
      r.on('CallHandler.CallEnded', { name: 'commits' }, (_e, ctx) => ctx.commit((db) => db.exec('commit')));`),
    );
    const { code, reports } = await backtest(cwd);
    expect([code, reports]).toMatchObject([
      0,
      [
        { handler: 'discards', now: { ...none, discarded: 2 }, errors: [{ cause: 'Discard', runs: 2 }] },
        { handler: 'waits', now: { ...none, retried: 2 }, errors: [{ cause: 'RetryLater' }] },
        { handler: 'hangs', now: { ...none, failed: 2 }, errors: [{ cause: 'deadline' }] },
        { handler: 'commits', now: { ...none, failed: 2 }, errors: [{ cause: 'transaction_ended' }] },
      ],
    ]);
  });

  it('counts the rows that a commit would write, and undoes each', { tags: 'long' }, async () => {
    const cwd = await workedOn(
      appOf(`
      r.database.exec('create table if not exists later (id integer primary key)');
      r.on('*', { name: 'journal' }, async (event, ctx) => ctx.commit((db) => {
        db.prepare("insert into minutes values ('of all', 1)").run();
        db.prepare("update minutes set calls = 2 where call_id = 'of all'").run();
        db.exec('insert into later values (1)');
      }));
      r.on('*', { name: 'none' }, async (event, ctx) => ctx.commit((db) => {
        db.prepare('insert into minutes values (?, 1)').run(event.callId);
        throw new Error('changed its mind');
      }));`),
    );
    const { reports } = await backtest(cwd);
    expect(reports).toMatchObject([
      {
        now: { ...none, done: 3 },
        rows: {
          later: { inserted: 3, updated: 0, deleted: 0 },
          minutes: { inserted: 3, updated: 3, deleted: 0 },
        },
      },
      { now: { ...none, failed: 3 }, rows: {} },
    ]);
  });

  it(
    'gives a handler the context of its first attempt, and the events in their order',
    { tags: 'long' },
    async () => {
      const cwd = await workedOn(
        appOf(`r.on('*', { name: 'journal' }, async (event, ctx) => {
        const call = await ctx.call();
        console.log([event.traceId, ctx.attempt, ctx.replay, call.events.length].join(' '));
      });`),
      );
      const { stderr } = await backtest(cwd);
      expect(stderr.split('\n')).toEqual(['t-started 1  1', 't-well 1  2', 't-dead 1  1', '']);
    },
  );

  it(
    'runs a join once for each call, and leaves one alone whose time is not over',
    { tags: 'long' },
    async () => {
      const cwd = await workedOn(
        appOf(`r.onCall({ name: 'order', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '2h' },
        (call) => console.log(call.callId, call.complete, call.missing.join()));`),
        [
          { fixture: 'call-ended', traceId: 't-1', callId: 'whole', ago: '2d' },
          { fixture: 'pca-completed', traceId: 't-2', callId: 'whole', ago: '2d' },
          { fixture: 'call-ended', traceId: 't-3', callId: 'half', ago: '2d' },
          { fixture: 'call-ended', traceId: 't-4', callId: 'present', ago: '0d' },
        ],
      );
      const { stderr, reports } = await backtest(cwd, '--handler', 'order');
      expect(stderr).toBe('whole true \nhalf false callAnalysis.pcaCompleted\n');
      expect(reports).toMatchObject([{ runs: 3, now: { ...none, done: 2, waiting: 1 } }]);
    },
  );

  it('takes only the events of a time or a name, and only one handler', { tags: 'long' }, async () => {
    const cwd = await workedOn(appOf(`${journal} r.on('*', { name: 'other' }, () => {});`), [
      { fixture: 'call-started', traceId: 't-old', ago: '9d' },
      { fixture: 'call-started', traceId: 't-started', ago: '1d' },
      { fixture: 'call-ended', traceId: 't-ended', ago: '1d' },
    ]);
    const runs = async (...args: readonly string[]) =>
      (await backtest(cwd, ...args)).reports.map(({ handler, runs: count }) => [handler, count]);
    expect(await runs('--since', '7d')).toEqual([
      ['journal', 2],
      ['other', 2],
    ]);
    expect(await runs('--until', '7d', '--handler', 'other')).toEqual([['other', 1]]);
    expect(await runs('--event-name', 'CallHandler.CallEnded', '--handler', 'journal')).toEqual([
      ['journal', 1],
    ]);
    expect(await backtest(cwd, '--event-name', 'unknown')).toEqual({
      code: 0,
      stderr: 'ringback: no event matches\n',
      reports: [],
    });
    const unknown = await backtest(cwd, '--handler', 'journals');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Did you mean "journal"?')]);
  });

  it('prints tables on a terminal', { tags: 'long' }, async () => {
    const app = `r.on('*', { name: 'journal' }, async (event, ctx) => {
      if (event.traceId === 't-well') throw new Error('not this one');
      await ctx.commit((db) => void db.prepare('insert into minutes values (?, 1)').run(event.traceId));
    });`;
    const cwd = await workedOn(appOf(app));
    const args = ['backtest', '--app', 'app.ts', '--handler', 'journal'];
    const { stdout } = await ringback(args, { ...settingIn(cwd), terminal: 100 });
    const lines = stdout.split('\n');
    expect(lines.slice(0, 6)).toEqual([
      'HANDLER  RUNS  NOW               THEN                 WORSE  BETTER',
      'journal  3     2 done, 1 failed  2 done, 1 discarded  1      1',
      '',
      'HANDLER  TABLE    INSERTED  UPDATED  DELETED',
      'journal  minutes  2         0        0',
      '',
    ]);
    expect(lines.slice(6).map((line) => line.split(/ {2,}/v))).toEqual([
      ['HANDLER', 'RUNS', 'WORSE', 'NOW', 'CAUSE', 'LOCATION', 'TRACE ID', 'MESSAGE'],
      ['journal', '1', '1', 'failed', 'Error', expect.stringMatching(/^app\.ts:/v), 't-well', 'not this one'],
    ]);
  });

  it('does not disturb a receiver that works on the inbox', { tags: 'long' }, async () => {
    const cwd = await workedOn(appOf(journal));
    const server = serve([], { ...settingIn(cwd), env: { RINGBACK_DATABASE: join(cwd, 'ringback.db') } });
    const url = `${await server.url()}/webhooks`;
    const deliver = (traceId: string) => deliverTo(url, buildDelivery('call-ended', { secret, traceId }));
    await deliver('t-before');
    const running = ringback(['backtest', '--app', 'app.ts'], settingIn(cwd));
    expect(await deliver('t-during')).toMatchObject({ status: 200 });
    const { code, stdout } = await running;
    const report = JSON.parse(stdout) as HandlerReport;
    expect([code, report]).toMatchObject([0, { handler: 'journal', worse: 0 }]);
    // The second may have come before the copy was made, or after it.
    expect([1, 2]).toContain(report.past.open);
    expect(await deliver('t-after')).toMatchObject({ status: 200 });
    const { stdout: counted } = await ringback(['inbox', 'counts'], { cwd });
    expect(JSON.parse(counted)).toMatchObject({ events: { new: 3, done: 3 } });
    expect(bytesIn(cwd).length).toBeGreaterThan(0);
    expect(leftIn(cwd)).toEqual([]);
  });
});
