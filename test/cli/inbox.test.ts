import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliver } from '../../src/testing/deliver.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import { ManualClock } from '../support/clock.ts';
import { concurrently } from '../support/concurrently.ts';
import { withStore } from '../support/inbox.ts';
import { eventOf, record, unauthenticated } from '../store/parts.ts';
import { folder, main, ringback, secret } from './command.ts';
import { plain, receiverAt } from './doctor-support.ts';
import { env, inboxWithTrouble, linesOf } from './inbox-support.ts';

/** Waits until more is written than a pipe holds, then passes all of it on. */
const lateReader = `process.stdin.once('readable', () => {
  let turns = 0;
  const read = () => (turns++ < 50_000 ? setImmediate(read) : process.stdin.pipe(process.stdout));
  read();
})`;

describe('ringback inbox', () => {
  it('shows events, what was delivered, and why a run is dead', async () => {
    const cwd = await inboxWithTrouble();
    expect(await linesOf(cwd, 'events')).toMatchObject([
      { traceId: 't-dead', state: 'done', dead: true },
      { traceId: 't-well', state: 'done', dead: false },
    ]);
    expect(await linesOf(cwd, 'events', '--limit', '1')).toMatchObject([{ traceId: 't-dead' }]);
    expect(await linesOf(cwd, 'events', '--state', 'dead', '--handler', 'journal')).toMatchObject([
      { traceId: 't-dead', runs: [{ handler: 'journal', state: 'dead', reason: 'the journal is full' }] },
    ]);
    expect(await linesOf(cwd, 'events', '--state', 'dead', '--handler', 'another')).toEqual([]);
    expect(await linesOf(cwd, 'events', '--until', '2020-01-01T00:00:00Z')).toEqual([]);
    expect(await linesOf(cwd, 'events', '--agent-id', 'agent_7f3a')).toHaveLength(2);
    expect(await linesOf(cwd, 'events', '--agent-id', 'another')).toEqual([]);
    const { stdout } = await ringback(['inbox', 'event', 't-dead'], { env: {}, cwd });
    expect(JSON.parse(stdout)).toMatchObject({
      traceId: 't-dead',
      dead: true,
      duplicates: { count: 1, firstSeenAt: expect.stringMatching(/^2/) },
      body: { eventName: 'CallHandler.CallEnded' },
      runs: [{ reason: 'the journal is full' }],
    });
  });

  it.each([['inbox', 'event', 't-well'], ['page']])('refuses an empty --by: %s', async (...args) => {
    const { code, stderr } = await ringback([...args, '--by', ' '], { env: {} });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "ringback: option '--by <who>' has an invalid value. It should be text that is not empty.\n",
    });
  });

  it('keeps who has looked at what was delivered: the user of the system, or whom --by names', async () => {
    const cwd = await inboxWithTrouble();
    const [kept] = (await linesOf(cwd, 'quarantine')) as { id: number }[];
    for (const args of [
      ['event', 't-dead'],
      ['delivery', String(kept?.id)],
      ['event', 't-well', '--by', 'ann'],
    ])
      expect((await ringback(['inbox', ...args], { env: {}, cwd })).code).toBe(0);
    expect((await ringback(['inbox', 'event', 't-none'], { env: {}, cwd })).code).toBe(1);
    await ringback(['inbox', 'pause', 'journal'], { env: {}, cwd });
    const by = userInfo().username;
    expect(await linesOf(cwd, 'audit')).toMatchObject([
      { action: 'pause', by },
      { action: 'look', what: 't-well', by: 'ann' },
      { action: 'look', what: `delivery ${kept?.id}`, by },
      { action: 'look', what: 't-dead', by },
    ]);
  });

  it('says on a narrow terminal why, on lines of their own', async () => {
    const cwd = await inboxWithTrouble();
    const printed = async (...args: readonly string[]) =>
      (await ringback(['inbox', ...args], { env: {}, cwd, terminal: 80 })).stdout.split('\n');
    const reason = `the journal moves to another room, ${'far away, '.repeat(6)}and comes back`;
    await ringback(['inbox', 'pause', 'journal', '--by', 'ann', '--reason', reason], { env: {}, cwd });
    const audit = await printed('audit');
    expect(audit.slice(0, 2)).toEqual([
      expect.stringMatching(/^ID +WHEN +WHO +DID +EVENTS +RUNS +PROGRESS$/) as string,
      '    TARGET  WHY',
    ]);
    expect(audit[2]).toMatch(/^1 .* ann  pause  0 +0 +-$/);
    const why = audit.slice(3).map((line) => line.slice(4));
    expect(why.length).toBe(2);
    expect(why.join('')).toBe(`journal  ${reason}`);
    const [, below, , failure] = await printed('failures');
    expect(below).toMatch(/^ {4}LAST SEEN +CAUSE +MESSAGE$/);
    expect(failure).toMatch(/^ {4}\S+Z +Discard +the journal is full$/);
    const history = await printed('history');
    expect(history[0]).toMatch(/^FROM .* ANSWER P99 MS$/);
    expect(history[1]).toMatch(/^ {4}DONE +RETRIED +DEAD +HANDLER P99 MS +WAITING +OLDEST MS$/);
    for (const line of [...audit, ...history]) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('pauses a handler and resumes it, and shows that', async () => {
    const cwd = await inboxWithTrouble();
    const ask = async (...args: readonly string[]) =>
      JSON.parse((await ringback(['inbox', ...args], { env: {}, cwd })).stdout) as unknown;
    expect(await ask('pause', 'journal', '--by', 'ann', '--reason', 'it moves')).toMatchObject({
      handler: 'journal',
      by: 'ann',
      reason: 'it moves',
    });
    expect(await ask('handlers')).toMatchObject({
      handlers: [{ name: 'journal', dead: 1, isRegistered: false, pause: { by: 'ann', reason: 'it moves' } }],
      processes: [],
    });
    expect(await ask('resume', 'journal')).toEqual({ handler: 'journal', resumed: true });
    expect(await ask('resume', 'journal')).toEqual({ handler: 'journal', resumed: false });
    const { stderr, code } = await ringback(['inbox', 'pause', 'jurnal'], { env: {}, cwd });
    expect(stderr).toContain('Did you mean "journal"?');
    expect(code).toBe(1);
  });

  it('prints lists as tables on a terminal, as wide as that, and lines of JSON into a pipe', async () => {
    const cwd = await inboxWithTrouble();
    const printed = async (args: readonly string[], terminal: number) =>
      (await ringback(['inbox', ...args], { env: {}, cwd, terminal })).stdout.split('\n');
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
    const [head, dead, well, ...others] = await printed(['events'], 200);
    expect(head).toMatch(/^ARRIVED +EVENT +STATE +TRACE ID +CALL +WHY$/);
    expect(dead).toMatch(new RegExp(`^${time}  \\S+ +dead +t-dead +\\S+ +.*the journal is full`));
    expect(well).toMatch(new RegExp(`^${time}  \\S+ +done +t-well +\\S+ +-$`));
    expect(others).toEqual([]);
    const narrow = await printed(['events'], 40);
    expect(narrow.map((line) => line.length)).toEqual([40, 40, 40]);
    expect(narrow.every((line) => line.endsWith('…'))).toBe(true);
    // Of a terminal that says it has no columns, nothing is known.
    expect((await printed(['events'], 0))[0]).toMatch(/^ARRIVED +EVENT +STATE +TRACE ID/);
    expect((await printed(['failures'], 200))[0]).toMatch(
      /^ID +HANDLER +DEAD +RETRYING +LAST DAY +MUTED +LAST SEEN/,
    );
    expect((await printed(['calls'], 200))[0]).toMatch(/^FIRST SEEN +CALL +STATUS/);
    await printed(['pause', 'journal', '--by', 'ann'], 200);
    const [heading, paused] = await printed(['audit'], 200);
    expect(heading).toMatch(/^ID +WHEN +WHO +DID /);
    expect(paused).toMatch(new RegExp(`^1   ${time}  ann  pause  0 +0 +- +journal`));
    expect(await printed(['alerts'], 200)).toEqual(['']);
    expect((await printed(['counts'], 200)).slice(0, 4)).toEqual([
      'WHAT        STATE         HOW MANY',
      'events      new           0',
      'events      open          0',
      'events      done          2',
    ]);
    const [heads, journal, ...processes] = await printed(['handlers'], 200);
    expect(heads).toMatch(/^HANDLER +STATE +DUE +RUNNING +BLOCKED +DEAD +PAUSED SINCE +BY +WHY$/);
    expect(journal).toMatch(new RegExp(`^journal +paused +0 +0 +0 +1 +${time} +ann +-$`));
    expect(processes).toEqual([]);
    expect((await printed(['history'], 200))[1]).toMatch(new RegExp(`^${time}  2 +1 +1 +0 `));
    for (const args of [['counts'], ['handlers'], ['history']]) {
      const { stdout } = await ringback(['inbox', ...args], { env: {}, cwd });
      expect(stdout).toMatch(/^\{.*\}$/);
      expect(JSON.parse(stdout)).toBeTypeOf('object');
    }
  });

  it('shows the history, by minute or by hour, of a time', async () => {
    const cwd = await inboxWithTrouble();
    const [minute] = await linesOf(cwd, 'history');
    expect(minute).toMatchObject({ accepted: 2, done: 1, dead: 1 });
    expect(await linesOf(cwd, 'history', '--resolution', 'hour')).toMatchObject([{ accepted: 2 }]);
    const [own] = await linesOf(cwd, 'history', '--handler', 'journal');
    expect(own).toMatchObject({ done: expect.any(Number), handlerP99: expect.any(Number) });
    expect(own).not.toHaveProperty('accepted');
    const { stdout, stderr } = await ringback(['inbox', 'history', '--until', '2020-01-01'], {
      env: {},
      cwd,
    });
    expect([stdout, stderr]).toEqual(['', 'ringback: nothing has happened then\n']);
  });

  it('prints nothing from senders that could move the cursor', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    await raise(cwd, 'a\u001B[2Jb\u202Ec\nd');
    const { stdout } = await ringback(['inbox', 'alerts'], { env: {}, cwd, terminal: 100 });
    expect(stdout.split('\n')[1]).toBe('1970-01-01T00:00:00Z  disk   -        a\\u001b[2Jb\\u202ec\\u000ad');
  });

  it('shows the alerts that are raised', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    const nothing = await ringback(['inbox', 'alerts'], { env: {}, cwd });
    expect(nothing).toMatchObject({ code: 0, stdout: '', stderr: 'ringback: no alert is raised\n' });
    await raise(cwd, 'It is full.');
    expect(await linesOf(cwd, 'alerts')).toEqual([
      { name: 'disk', since: '1970-01-01T00:00:00.001Z', message: 'It is full.' },
    ]);
  });

  it('shows what failed alike, and the events of it', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    const groups = (await linesOf(cwd, 'failures')) as { id: string }[];
    expect(groups).toMatchObject([{ handler: 'journal', message: 'the journal is full', dead: 1 }]);
    expect(await linesOf(cwd, 'events', '--failure', groups[0]?.id ?? '')).toMatchObject([
      { traceId: 't-dead' },
    ]);
    expect(await linesOf(cwd, 'events', '--failure', 'another')).toEqual([]);
  });

  it(
    'prints an event that can be sent again, to another inbox or as a new event',
    { tags: 'long' },
    async () => {
      const cwd = await inboxWithTrouble();
      const { stdout } = await ringback(['inbox', 'event', 't-dead'], { env: {}, cwd });
      writeFileSync(join(cwd, 'event.json'), stdout);
      const to = (await receiverAt(plain)).href;
      const send = async (...args: readonly string[]) =>
        (await ringback(['send', 'event.json', '--to', to, ...args], { env, cwd })).stdout;
      expect(await send()).toContain('{"status":"accepted","traceId":"t-dead"}');
      expect(await send()).toContain('{"status":"duplicate","traceId":"t-dead"}');
      expect(await send('--new-ids')).toMatch(/"status":"accepted","traceId":"(?!t-dead)/);
    },
  );

  it(
    'finds what arrived since or until a time, a date in UTC, or so long ago',
    { tags: 'long' },
    async () => {
      const cwd = folder();
      const midnight = Date.parse('2026-01-31T00:00:00Z');
      await withStore(join(cwd, 'ringback.db'), async (store) => {
        await record(store, eventOf('t-before', { receivedAt: midnight - 1 }));
        await record(store, eventOf('t-after', { receivedAt: midnight }));
        await store.quarantine.keep({ ...unauthenticated, receivedAt: Date.now() });
      });
      const found = async (...args: readonly string[]) => {
        const { code, stdout } = await ringback(['inbox', 'events', ...args], {
          env: { TZ: 'America/Lima' },
          cwd,
        });
        expect(code).toBe(0);
        return /"traceId":"t-(?<which>\w+)"/v.exec(stdout)?.groups?.['which'];
      };
      expect(await found('--since', '2026-01-31', '--until', '2026-02-01')).toBe('after');
      expect(await found('--until', '2026-01-31')).toBe('before');
      expect(await found('--since', '2026-01-31T01:00:00+01:00', '--until', '2026-01-31 00:00:01Z')).toBe(
        'after',
      );
      expect(await found('--until', '12h')).toBe('after');
      expect(await found('--since', '90s')).toBeUndefined();
      expect(await found('--since', '99999d', '--until', '2026-01-31T00:00Z')).toBe('before');
      expect(await linesOf(cwd, 'quarantine', '--since', '1h')).toHaveLength(1);
    },
  );

  it('shows what is in quarantine', async () => {
    const cwd = await inboxWithTrouble();
    expect(await linesOf(cwd, 'quarantine')).toMatchObject([
      { kind: 'not_authentic', reason: 'signature_mismatch' },
    ]);
  });

  it('prints a hundred by default, and says when more match', { tags: 'long' }, async () => {
    const delivered = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, place) =>
        buildDelivery('call-ended', { secret, traceId: `t-${from + place}` }),
      );
    const cwd = await inboxWithTrouble({ besides: delivered(2, 100) });
    expect(await linesOf(cwd, 'events')).toHaveLength(100);
    const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db') });
    await receiver.start();
    await deliver(receiver, buildDelivery('call-ended', { secret }));
    await receiver.stop();
    const { code, stdout, stderr } = await ringback(['inbox', 'events'], { env, cwd });
    expect([code, stderr]).toEqual([0, 'ringback: more match: --limit all\n']);
    expect(stdout.split('\n')).toHaveLength(100);
    expect(await linesOf(cwd, 'events', '--limit', 'all')).toHaveLength(101);
  });

  it('dismisses with --yes, without app and secrets', async () => {
    const cwd = await inboxWithTrouble();
    const dismiss = (...args: readonly string[]) =>
      ringback(['inbox', 'dismiss', '--state', 'dead', '--reason', 'by hand', ...args], { env: {}, cwd });
    const asked = await dismiss();
    expect([asked.code, JSON.parse(asked.stdout)]).toEqual([
      0,
      { events: 1, runs: 1, handlers: { journal: 1 } },
    ]);
    expect(asked.stderr).toBe('ringback: Nothing was dismissed. To dismiss these runs, add --yes.\n');
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toHaveLength(1);
    const meant = await dismiss('--yes', '--by', 'ann');
    expect([meant.code, meant.stderr, JSON.parse(meant.stdout)]).toMatchObject([0, '', { runs: 1 }]);
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toEqual([]);
    const reason = 'dismissed by ann: by hand (its reason was: the journal is full)';
    expect(await linesOf(cwd, 'events', '--trace-id', 't-dead')).toMatchObject([
      { runs: [{ state: 'done', reason }] },
    ]);
    for (const again of [await dismiss(), await dismiss('--yes')])
      expect([again.code, again.stderr]).toEqual([0, 'ringback: no run matches\n']);
  });

  it('dismisses what failed alike', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    const [group] = (await linesOf(cwd, 'failures')) as { id: string }[];
    const dismiss = ['dismiss', '--failure', group?.id ?? '', '--reason', 'by hand', '--yes'];
    expect(await linesOf(cwd, ...dismiss)).toMatchObject([{ runs: 1, handlers: { journal: 1 } }]);
    expect(await linesOf(cwd, 'events', '--state', 'dead')).toEqual([]);
  });

  it('dismisses the runs of a removed handler', { tags: 'long' }, async () => {
    const cwd = folder();
    const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db') });
    receiver.on('*', { name: 'gone', retry: { base: '1d' } }, () => {
      throw new Error('not yet');
    });
    await receiver.start();
    await deliver(receiver, buildDelivery('call-ended', { secret, traceId: 't-waiting' }));
    while ((await receiver.counts()).events.open < 1) await setImmediate();
    await receiver.stop();
    const dismiss = ['dismiss', '--handler', 'gone', '--reason', 'renamed', '--yes'];
    expect(await linesOf(cwd, ...dismiss)).toMatchObject([{ handlers: { gone: 1 } }]);
    expect(await linesOf(cwd, 'events', '--trace-id', 't-waiting')).toMatchObject([{ state: 'done' }]);
  });

  it('prints all of it into a pipe, however late that is read', { tags: 'long' }, async () => {
    const cwd = folder();
    // Time stands still: on a busy machine, one of many writes may take longer than its sender waits.
    const clock = new ManualClock();
    const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db'), clock });
    await receiver.start();
    const traceIds = Array.from({ length: 1_200 }, (_, place) => `t-${place}`);
    await concurrently(traceIds, 50, async (traceId) => {
      const delivery = buildDelivery('call-ended', { secret, traceId });
      expect(await deliver(receiver, delivery)).toMatchObject({ status: 200 });
    });
    await receiver.stop();
    const command = `"${process.execPath}" "${main}" inbox events --limit all | "${process.execPath}" -e "${lateReader}"`;
    const { stdout } = spawn('sh', ['-c', command], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = (await text(stdout)).trimEnd().split('\n');
    expect(lines).toHaveLength(1_200);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ runs: [] });
  });

  it("says that a file is a sandbox's", async () => {
    const cwd = folder();
    await createSandbox({ database: join(cwd, 'sandbox.db') }).stop();
    const { code, stderr } = await ringback(['inbox', 'events', '--database', 'sandbox.db'], {
      env: {},
      cwd,
    });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/it is the database of a sandbox.* set --database/),
    ]);
  });

  it('leaves a database of another program as it is', async () => {
    const cwd = folder();
    const db = new Database(join(cwd, 'other.db'));
    db.exec('create table orders (id text)');
    const { code, stderr } = await ringback(['inbox', 'events', '--database', 'other.db'], { env: {}, cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining('no receiver has stored anything in it')]);
    expect(db.prepare('select name from sqlite_master').pluck().all()).toEqual(['orders']);
    db.close();
  });

  it('refuses at once what is not a file, such as a pipe that would block', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, 'folder.db'));
    execFileSync('mkfifo', [join(cwd, 'pipe.db')]);
    const looking = (name: string) => ringback(['inbox', 'events', '--database', name], { env: {}, cwd });
    const [aFolder, pipe] = await Promise.all([looking('folder.db'), looking('pipe.db')]);
    expect([aFolder.code, aFolder.stderr]).toEqual([
      1,
      expect.stringContaining('but: it is a folder. Check'),
    ]);
    expect([pipe.code, pipe.stderr]).toEqual([
      1,
      expect.stringContaining('but: it is not a regular file. Check'),
    ]);
  });

  it('says in a sentence what can not be', { tags: 'long' }, async () => {
    const cwd = await inboxWithTrouble();
    const wrong: readonly (readonly [code: number, sentence: RegExp, ...args: string[]])[] = [
      [1, /No event in \S+ has the trace id "t-gone"/, 'event', 't-gone'],
      [
        1,
        /no-such\.db should be a SQLite file .* there is no such file/,
        'events',
        '--database',
        'no-such.db',
      ],
      [2, /It should be one of new, open, done, dead/, 'events', '--state', 'lost'],
      [2, /It should be a time with its zone/, 'events', '--since', 'yesterday'],
      [2, /It should be a time with its zone/, 'events', '--until', '2026-01-31T12:00:00'],
      [2, /It should be a time with its zone/, 'quarantine', '--since', '2026-02-30'],
      [2, /It should be a time with its zone/, 'replay', '--since', '12'],
      [2, /It should be a whole number above 0, or 'all'/, 'quarantine', '--limit', '0'],
      [2, /missing the option '--app <file>'/, 'replay', '--state', 'dead'],
      [2, /missing a condition/, 'replay', '--app', 'app.mjs'],
      [2, /missing a condition: '--state dead', or '--handler/, 'dismiss', '--reason', 'x', '--call-id', 'c'],
      [2, /required option '--reason <text>' not specified/, 'dismiss', '--state', 'dead'],
      [
        1,
        /The handler "jurnal" .* Did you mean "journal"/,
        'replay',
        '--handler',
        'jurnal',
        '--app',
        'app.mjs',
      ],
    ];
    for (const [expected, sentence, ...args] of wrong) {
      const { code, stdout, stderr } = await ringback(['inbox', ...args], { env, cwd });
      expect([args, code, stdout]).toEqual([args, expected, '']);
      expect(stderr).toMatch(/^ringback: .*\n$/);
      expect(stderr).toMatch(sentence);
    }
  });
});

/** As another process of the inbox raises an alert. */
function raise(cwd: string, message: string) {
  const found = {
    name: 'disk',
    subject: '',
    message,
    now: 1,
    wasRaised: false,
    notifies: false,
    sentBefore: 0,
  };
  return withStore(join(cwd, 'ringback.db'), ({ alerts }) => alerts.raise(found));
}
