/** Every command on an inbox in Postgres. None of them ever says the password of its URL. */
import { Pool } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { folder, otherSecret, ringback, ringbackProcess, secret, serve } from './command.ts';
import { appWith, env, makeTrouble } from './inbox-support.ts';
import { type CommandsDatabase, commandsDatabase, onPostgres } from './postgres-support.ts';

const both = { RINGBACK_SECRETS: `${secret},${otherSecret}` };

async function troubled(): Promise<CommandsDatabase> {
  const database = await commandsDatabase();
  await makeTrouble(database.url, [buildDelivery('unreadable-not-json', { secret })]);
  return database;
}

/** Runs the command, expects success, and parses the lines that it has printed. */
async function linesOn(database: CommandsDatabase, args: readonly string[], cwd = folder()) {
  const { code, stdout, stderr } = await onPostgres(database, args, { cwd, env: both });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** As if `pg` were not installed. */
const withoutDriver = `
  const Module = require('node:module');
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (request, ...rest) => {
    if (request === 'pg') throw Object.assign(new Error("Cannot find module 'pg'"), { code: 'MODULE_NOT_FOUND' });
    return resolve(request, ...rest);
  };`;

describe('a command on an inbox in Postgres', () => {
  it('looks into it', { tags: 'long' }, async () => {
    const database = await troubled();
    const { stdout } = await onPostgres(database, ['inbox', 'counts']);
    expect(JSON.parse(stdout)).toMatchObject({
      events: { new: 0, open: 0, done: 2 },
      runs: { dead: 1 },
      quarantine: { notAuthentic: 1, unreadable: 1 },
    });
    expect(await linesOn(database, ['inbox', 'events', '--state', 'dead'])).toMatchObject([
      { traceId: 't-dead', runs: [{ handler: 'journal', reason: 'the journal is full' }] },
    ]);
    const [call] = await linesOn(database, ['inbox', 'calls']);
    expect(call).toMatchObject({ status: 'ended', events: [{ traceId: 't-dead' }, { traceId: 't-well' }] });
    const whole = await onPostgres(database, ['inbox', 'call', String(call?.['callId'])]);
    expect(JSON.parse(whole.stdout)).toMatchObject({ callId: call?.['callId'] });
    const event = await onPostgres(database, ['inbox', 'event', 't-dead']);
    expect(JSON.parse(event.stdout)).toMatchObject({ traceId: 't-dead', dead: true });
    const [unreadable, forged] = await linesOn(database, ['inbox', 'quarantine']);
    expect([unreadable, forged]).toMatchObject([{ kind: 'unreadable' }, { kind: 'not_authentic' }]);
    const delivery = await onPostgres(database, ['inbox', 'delivery', String(forged?.['id'])]);
    expect(JSON.parse(delivery.stdout)).toMatchObject({ body: expect.stringContaining('call_id') as string });
    expect(await onPostgres(database, ['inbox', 'drift'])).toMatchObject({ code: 0 });
    const detect = ['signature', 'detect', '--quarantine', String(forged?.['id'])];
    const detected = await onPostgres(database, detect, { env: both });
    expect(detected.stdout).toContain("signature: 't-v1-hex-whole'");
  });

  it('names it without its password where it finds nothing', { tags: 'long' }, async () => {
    const database = await troubled();
    for (const args of [
      ['inbox', 'event', 't-none'],
      ['inbox', 'call', 'call-none'],
    ]) {
      const { code, stderr } = await onPostgres(database, args);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`No event in ${database.name} `)]);
    }
  });

  it('replays, dismisses, releases, discards and erases in it', async () => {
    const database = await troubled();
    const cwd = folder({ 'app.mjs': appWith('() => {}') });
    const dead = ['--state', 'dead'];
    const replay = ['inbox', 'replay', ...dead, '--app', 'app.mjs'];
    expect(await linesOn(database, replay, cwd)).toMatchObject([{ runs: 1 }]);
    const replayed = await onPostgres(database, [...replay, '--yes', '--wait'], { cwd });
    expect(replayed).toMatchObject({
      code: 0,
      stderr: 'ringback: runs requeued: 1 done, 0 dead, 0 still waiting\n',
    });
    const dismiss = ['inbox', 'dismiss', ...dead, '--reason', 'by hand', '--yes'];
    expect(await linesOn(database, dismiss)).toMatchObject([{ runs: 0 }]);

    const [unreadable, forged] = await linesOn(database, ['inbox', 'quarantine']);
    const waits = await onPostgres(database, ['inbox', 'reverify']);
    expect(waits.stderr).toContain('Nothing was released.');
    await linesOn(database, ['inbox', 'release', String(forged?.['id'])]);
    expect(await linesOn(database, ['inbox', 'discard', String(unreadable?.['id'])])).toHaveLength(1);
    expect(await linesOn(database, ['inbox', 'reverify', '--yes'])).toHaveLength(1);

    const [call] = await linesOn(database, ['inbox', 'calls']);
    const erase = ['inbox', 'erase', '--call-id', String(call?.['callId']), '--yes'];
    expect(await linesOn(database, erase)).toMatchObject([{ events: 3 }]);
    const { stdout } = await onPostgres(database, ['inbox', 'counts']);
    expect(JSON.parse(stdout)).toMatchObject({ events: { done: 0, new: 0 } });
  });

  it('shows and removes the pinned scheme', { tags: 'long' }, async () => {
    const database = await troubled();
    const shown = await onPostgres(database, ['signature', 'unpin']);
    expect(shown.stdout).toBe(
      `The scheme t-v1-hex-whole is pinned in ${database.name}. To unpin it, add --yes.`,
    );
    await onPostgres(database, ['signature', 'unpin', '--yes']);
    const none = await onPostgres(database, ['signature', 'unpin']);
    expect(none.stdout).toBe(`No scheme is pinned in ${database.name}.`);
  });

  it('refuses a schema that holds no inbox, and makes none', async () => {
    const database = await commandsDatabase();
    for (const args of [
      ['inbox', 'counts'],
      ['signature', 'unpin', '--yes'],
      ['inbox', 'reverify', '--yes'],
    ]) {
      const { code, stderr } = await onPostgres(database, args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^ringback: The database .* should hold an inbox, but no receiver has been/);
      expect(stderr).toContain(database.name);
    }
    const pool = new Pool({ connectionString: database.url.replace(/\?.*/, '') });
    onTestFinished(() => pool.end());
    const found = await pool.query('select from pg_namespace where nspname = $1', [database.schema]);
    expect(found.rowCount).toBe(0);
  });

  it('receives', async () => {
    const database = await commandsDatabase();
    const command = serve(['--database', database.url]);
    const url = await command.url();
    expect(await command.logged('receiver_started')).toMatchObject({ database: database.name });
    const sent = await ringback(['send', 'call-ended', '--to', `${url}/webhooks`], { env });
    expect(sent).toMatchObject({ code: 0 });
    // Beside the receiver that works on it.
    expect(await linesOn(database, ['inbox', 'events'])).toMatchObject([{ state: 'new' }]);
    const { code, stdout, stderr } = await command.stop();
    expect(code).toBe(0);
    expect(`${stdout}${stderr}`).not.toContain(database.password);
  });
});

describe('a password in the URL of a database is never printed', () => {
  const password = 'hunter2/of the test';
  const counts = ['inbox', 'counts'];

  it.each([
    ['with another scheme', `mysql://ada:${password}@127.0.0.1/app`],
    ['that is no URL', `postgres://ada:${password}@127.0.0.1:port/app`],
    ['with a schema that can be none', `postgres://ada:hunter2@127.0.0.1/app?schema=No%20Schema`],
    ['with a password that is wrongly encoded', `postgres://ada:hunter2%zz@127.0.0.1:1/app`],
    ['where nothing listens', `postgres://ada:hunter2@127.0.0.1:1/app?schema=calls&password=hunter2`],
  ])('%s', async (_, url) => {
    for (const args of [counts, ['serve', '--insecure-http', '--port', '0'], ['demo'], ['doctor']]) {
      for (const given of [onPostgres, inFlag]) {
        if (given === inFlag && args[0] === 'demo') continue;
        const { code, stdout, stderr } = await given({ url, password: 'hunter2' }, args);
        expect([code, stdout + stderr]).toEqual([
          expect.toSatisfy((c) => c !== 0),
          expect.stringMatching(/database/i),
        ]);
      }
    }
  });

  it('given in the wrong place', async () => {
    const url = `postgres://ada:${password}@127.0.0.1:1/app`;
    for (const args of [
      ['serve', url],
      ['inbox', 'counts', url],
      [url],
      ['inbox', 'counts', `--base=${url}`],
    ]) {
      const { code } = await onPostgres({ url: './ringback.db', password: 'hunter2' }, args);
      expect(code).toBe(2);
    }
  });

  it('without the driver', { tags: 'long' }, async () => {
    const hook = folder({ 'without-driver.cjs': withoutDriver });
    const setting = {
      node: ['--require', `${hook}/without-driver.cjs`],
      env: {
        ...env,
        RINGBACK_DATABASE: 'postgres://ada:hunter2@127.0.0.1:1/app',
        RINGBACK_LOG_LEVEL: 'trace',
      },
    };
    for (const args of [counts, ['serve', '--insecure-http', '--port', '0']]) {
      const { code, stdout, stderr } = await ringbackProcess(args, setting);
      expect(code).toBe(1);
      expect(stderr).toContain('ringback: The package pg, which is needed for');
      expect(stdout + stderr).not.toContain('hunter2');
    }
  });
});

function inFlag({ url, password }: Pick<CommandsDatabase, 'url' | 'password'>, args: readonly string[]) {
  return onPostgres({ url: './ringback.db', password }, [...args, '--database', url]);
}
