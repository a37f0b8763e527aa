import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { ownPostgres, withClient } from '../support/postgres.ts';
import { started } from '../support/receiver.ts';
import { ManualClock } from '../support/clock.ts';
import { codeBlocks } from '../docs/documents.ts';
import { storeIn } from '../support/inbox.ts';
import { dueAt, eventOf, presentTime, record, recordEnded } from '../store/parts.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { Running, folder, ringback } from './command.ts';
import { env, linesOf, makeTrouble } from './inbox-support.ts';
import { claimForTheDead, erased, filledFile, keptIn, known, oddCall, report } from './move-support.ts';
import { type CommandsDatabase, commandsDatabase } from './postgres-support.ts';

const moving = (from: string, to: string, ...more: readonly string[]) =>
  ringback(['inbox', 'move', '--from', from, '--to', to, ...more], { env });

/** The grants to `app_user` in a document. */
const grantsIn = (path: string) =>
  codeBlocks(path, 'sql').flatMap((code) => code.match(/^grant .* ringback to app_user;$/gm) ?? []);

/** Moves an inbox, expects success, and resolves to what was moved. */
async function moved(from: string, to: string): Promise<Record<string, number>> {
  const { code, stdout, stderr } = await moving(from, to, '--yes');
  expect([code, stderr]).toEqual([0, expect.stringContaining('counted on both sides')]);
  return (JSON.parse(stdout) as { moved: Record<string, number> }).moved;
}

async function clientOf({ url }: CommandsDatabase): Promise<Client> {
  const client = new Client({ connectionString: url.replace(/\?.*/, '') });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

describe('ringback inbox move', () => {
  it('moves all that is kept from a file to Postgres, and back', async () => {
    const [file, back] = [temporaryDatabase(), temporaryDatabase()];
    const database = await commandsDatabase();
    await filledFile(file);
    const there = await moved(file, database.url);
    expect(there).toMatchObject({
      newEvents: 3,
      runsBlocked: 1,
      runsDead: 1,
      duplicates: 1,
      quarantine: 3,
      audit: 3,
      failures: 3,
      failureGroups: 2,
      pausedHandlers: 1,
      pinnedSchemes: 1,
      reconciled: 1,
    });
    expect(await moved(database.url, back)).toEqual(there);
    expect(await keptIn(back)).toEqual(await keptIn(file));
  });

  it(
    'continues in the target: copies are duplicates, and waiting events are handled',
    { tags: 'long' },
    async () => {
      const file = temporaryDatabase();
      const database = await commandsDatabase();
      await filledFile(file);
      await moved(file, database.url);
      const handled: string[] = [];
      const { receiver, logs } = await started({ database: database.url }, (r) => {
        r.on(
          '*',
          { name: 'journal', order: 'strict' },
          ({ callId }) => void handled.push(callId ?? 'no call'),
        );
        r.onCall(report, () => {});
      });
      for (const body of [known, erased])
        expect(await deliver(receiver, body)).toMatchObject({ json: { status: 'duplicate' } });
      expect(await deliver(receiver, bodyOf({ callId: 'call-next' }))).toMatchObject({
        json: { status: 'accepted' },
      });
      await receiver.events.replay({ callId: 'call-dead', state: 'dead' });
      expect(handled).toEqual([]);
      expect(await receiver.handlers.resume('journal')).toBe(true);
      const all = ['call-new', 'call-new', oddCall, 'call-next', 'call-dead'].sort();
      await expect.poll(() => [...handled].sort()).toEqual(all);
      // Their time has not come.
      expect(await receiver.counts()).toMatchObject({ runs: { blocked: 1 } });
      const ended = bodyOf({ callId: 'call-known', eventName: 'CallHandler.CallStarted' });
      await deliver(receiver, ended);
      await expect.poll(() => logs.of('run_done').some(({ handler }) => handler === 'report')).toBe(true);
    },
  );

  it(
    'takes along that events were reconciled: their late deliveries are duplicates, there and back',
    { tags: 'long' },
    async () => {
      const [file, back] = [temporaryDatabase(), temporaryDatabase()];
      const database = await commandsDatabase();
      await filledFile(file);
      await moved(file, database.url);
      await moved(database.url, back);
      for (const inbox of [database.url, back]) {
        const { receiver } = await started({ database: inbox });
        const late = bodyOf({ callId: 'call-reconciled', eventName: 'CallHandler.CallStarted' });
        expect(await deliver(receiver, late)).toMatchObject({ json: { status: 'duplicate' } });
        const { events } = await receiver.events.list({ callId: 'call-reconciled' });
        expect(events.map(({ source }) => source)).toEqual(['reconciled', 'reconciled', 'reconciled']);
        await receiver.stop();
      }
    },
  );

  it(
    'refuses to end when the target lacks any of what it moves, and says how much, there and back',
    { tags: 'long' },
    async () => {
      const file = temporaryDatabase();
      await filledFile(file);
      const [whole, lacking] = [await commandsDatabase(), await commandsDatabase()];
      await moved(file, whole.url);
      const lackingFile = temporaryDatabase();
      for (const database of [lacking.url, lackingFile]) await (await started({ database })).receiver.stop();
      // As if rows were lost on the way.
      const tables = ['failures', 'failure_groups', 'paused_handlers'];
      const client = await clientOf(lacking);
      await client.query(
        `create function "${lacking.schema}".lose() returns trigger language plpgsql as 'begin return null; end'`,
      );
      for (const table of tables)
        await client.query(
          `create trigger lost before insert on "${lacking.schema}".${table}
           for each row execute function "${lacking.schema}".lose()`,
        );
      const database = new Database(lackingFile);
      for (const table of tables)
        database.exec(
          `create trigger lost_${table} before insert on ${table} begin select raise(ignore); end`,
        );
      database.close();
      for (const [from, to] of [
        [file, lacking.url],
        [whole.url, lackingFile],
      ] as const) {
        const { code, stderr } = await moving(from, to, '--yes');
        expect([code, stderr]).toEqual([
          1,
          expect.stringContaining('failures 3 and 0, failureGroups 2 and 0, pausedHandlers 1 and 0'),
        ]);
      }
    },
  );

  it('continues after being killed, and moves nothing twice', { tags: 'long' }, async () => {
    const [file, back] = [temporaryDatabase(), temporaryDatabase()];
    const database = await commandsDatabase();
    await filledFile(file);
    await (await started({ database: database.url })).receiver.stop();
    const client = await clientOf(database);
    await client.query(`begin; lock table "${database.schema}".joins in exclusive mode`);
    const command = new Running(['inbox', 'move', '--from', file, '--to', database.url, '--yes'], { env });
    const waits = `select from pg_locks where not granted and relation = '"${database.schema}".joins'::regclass`;
    await expect.poll(async () => (await client.query(waits)).rowCount).toBe(1);
    command.child.kill('SIGKILL');
    await command.ended();
    await client.query('rollback');
    const count = async (table: string) =>
      Number((await client.query(`select count(*) from "${database.schema}".${table}`)).rows[0].count);
    expect([await count('events'), await count('quarantine')]).toEqual([11, 0]);

    const another = temporaryDatabase();
    await makeTrouble(another, []);
    const refused = await moving(another, database.url, '--yes');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`a part of ${file}`)]);
    await moved(file, database.url);
    await moved(database.url, back);
    expect(await keptIn(back)).toEqual(await keptIn(file));
  });

  it(
    'takes along since when a retry has waited that a dead process had claimed',
    { tags: 'long' },
    async () => {
      const [file, back] = [temporaryDatabase(), temporaryDatabase()];
      const database = await commandsDatabase();
      const store = storeIn(file, new ManualClock(presentTime));
      await store.open();
      await recordEnded(store, eventOf('retried'), dueAt(presentTime - 50));
      await record(store, eventOf('new'));
      await store.close();
      claimForTheDead(file);
      await moved(file, database.url);
      const client = await clientOf(database);
      await client.query(`update "${database.schema}".runs set state = 'claimed', claimed_by = 999`);
      await moved(database.url, back);
      const { receiver } = await started({ database: back }, () => {});
      expect((await receiver.events.get('retried'))?.runs).toMatchObject([
        { state: 'due', dueAt: new Date(presentTime - 50) },
      ]);
    },
  );

  it('only says what would be moved without --yes', { tags: 'long' }, async () => {
    const cwd = folder();
    const [file, to] = [temporaryDatabase(), join(cwd, 'new.db')];
    await makeTrouble(file, []);
    const { code, stdout, stderr } = await moving(file, to);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { events: { done: 2 }, runs: { dead: 1 } }]);
    expect(stderr).toContain('Nothing was moved.');
    expect(existsSync(to)).toBe(false);
  });

  it('says without --yes that the folder of the target is not there', async () => {
    const file = temporaryDatabase();
    await makeTrouble(file, []);
    const lost = join(folder(), 'lost');
    const { code, stdout, stderr } = await moving(file, join(lost, 'new.db'));
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(`there is no folder ${lost}`)]);
  });

  it('refuses an inbox that a receiver works on, on either side', async () => {
    const [file, empty] = [temporaryDatabase(), temporaryDatabase()];
    const database = await commandsDatabase();
    const working = await started({ database: database.url });
    await makeTrouble(file, []);
    for (const [from, to] of [
      [file, database.url],
      [database.url, empty],
    ] as const) {
      const { code, stderr } = await moving(from, to, '--yes');
      expect([code, stderr]).toEqual([1, expect.stringContaining(`No process may use ${database.name}`)]);
    }
    await working.receiver.stop();
    const onFile = await started({ database: file });
    const { stderr } = await moving(file, database.url, '--yes');
    expect(stderr).toContain(`No process may use ${file}`);
    await onFile.receiver.stop();
    expect(await moved(file, database.url)).toMatchObject({ events: 2 });
  });

  it(
    'refuses a place that holds an inbox, and one that was moved there already',
    { tags: 'long' },
    async () => {
      const [file, another] = [temporaryDatabase(), temporaryDatabase()];
      for (const database of [file, another]) await makeTrouble(database, []);
      const refused = await moving(file, another, '--yes');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining(`moved to an empty database, but ${another} holds an inbox already`),
      ]);
      const to = temporaryDatabase();
      await moved(file, to);
      expect((await moving(file, to, '--yes')).stderr).toContain('holds an inbox already');
      expect(await linesOf(folder(), 'events', '--database', to)).toHaveLength(2);
    },
  );

  it('says without --yes that the target holds an inbox', { tags: 'long' }, async () => {
    const [file, another] = [temporaryDatabase(), temporaryDatabase()];
    for (const database of [file, another]) await makeTrouble(database, []);
    const database = await commandsDatabase();
    const onEmpty = await started({ database: database.url });
    await onEmpty.receiver.stop();
    expect(await moving(file, database.url)).toMatchObject({ code: 0 });
    await moved(file, database.url);
    for (const to of [another, database.url]) {
      const { code, stdout, stderr } = await moving(file, to);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('holds an inbox already')]);
    }
    expect(await moving(file, 'postgres://ada:hunter2@127.0.0.1:9/app')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing listens there'),
    });
  });

  it(
    'refuses a user who may not continue the numbering of the target, before it copies anything',
    { tags: 'long' },
    async () => {
      const file = temporaryDatabase();
      await makeTrouble(file, []);
      const { url } = await ownPostgres();
      const onTarget = await started({ database: url });
      await onTarget.receiver.stop();
      await withClient(url, async (client) => {
        await client.query('create role app_user login');
        for (const grant of grantsIn('docs/postgres.md')) await client.query(grant);
        const app = Object.assign(new URL(url), { username: 'app_user' }).href;
        const { code, stderr } = await moving(file, app, '--yes');
        expect([code, stderr]).toEqual([1, expect.stringContaining('Grant update on all sequences')]);
        expect(await client.query('select from ringback.events')).toMatchObject({ rowCount: 0 });
        for (const grant of grantsIn('docs/moving.md')) await client.query(grant);
        expect(await moved(file, app)).toMatchObject({ events: 2 });
      });
    },
  );

  it.each([
    ['the same database', ['./inbox.db', 'inbox.db']],
    ['what is gone with the command', ['inbox.db', ':memory:']],
    ['another URL', ['inbox.db', 'mysql://ada:hunter2@127.0.0.1/app']],
  ])('is misused for %s', async (_, [from = '', to = '']) => {
    const { code, stderr } = await moving(from, to, '--yes');
    expect([code, stderr]).toEqual([2, expect.stringContaining('The option --to should be')]);
    expect(stderr).not.toContain('hunter2');
  });
});
