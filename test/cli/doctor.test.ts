import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { fileSystemFinding } from '../../src/cli/doctor/check-database.ts';
import type { Environment } from '../../src/cli/environment.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Discard } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { folder, ringback, secret, serve } from './command.ts';
import { commanded, examined } from './doctor-support.ts';

/** Makes an inbox without events, as a receiver leaves it. */
async function makeInbox(database: string): Promise<void> {
  const { receiver } = await started({ database });
  await receiver.stop();
}

describe('doctor, on this machine', () => {
  it('finds all well, and skips what it was not given', async () => {
    const cwd = folder();
    expect(await commanded([], { cwd, env: { RINGBACK_SECRETS: secret } })).toEqual({
      node: `ok: Node ${process.versions.node}`,
      database: 'ok: ./ringback.db does not exist yet, and can be created',
      disk: expect.stringMatching(/^(ok|warning|skipped): /),
      secret: expect.stringMatching(/^ok: one secret, [0-9a-f]{8}$/),
      address: 'skipped: set --url to the address that the platform delivers to',
      clock: 'skipped: not compared with another clock: set --platform or --url',
      subscription: expect.stringMatching(/^skipped: set --platform /),
    });
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('prints a line for each, in words', async () => {
    const { code, stdout } = await ringback(['doctor', '--database', 'nowhere/inbox.db']);
    expect(code).toBe(1);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^ok {7}node {10}Node \d+/);
    expect(lines[1]).toMatch(
      /^wrong {4}database {6}nowhere\/inbox\.db can't be created: .*Create the folder/,
    );
    expect(lines.every((line) => /^(ok|warning|wrong|skipped) {2,}[a-z ]+ {2,}\S/.test(line))).toBe(true);
  });

  it('looks at a database that is in use, and leaves it as it is', { tags: 'long' }, async () => {
    const database = join(folder(), 'inbox.db');
    const running = serve(['--database', database]);
    await running.url();
    expect((await examined({ database }))['database']).toBe(`ok: ${database} can be written`);
    expect((await running.stop()).code).toBe(0);
  });

  it('says what is in the inbox, and warns of what waits for a person', async () => {
    const database = join(folder(), 'inbox.db');
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', () => {
        throw new Discard('not for us');
      }),
    );
    expect((await examined({ database }))['inbox']).toBe('ok: events: 0, of which 0 are not done');
    await deliver(receiver, bodyOf(), { 'content-type': 'application/json' });
    expect((await examined({ database }))['inbox']).toBe(
      'ok: events: 0, of which 0 are not done; unauthenticated deliveries: 1 (ringback inbox quarantine)',
    );
    await deliver(receiver);
    await deliver(receiver, '{');
    await logs.until('run_dead');
    await receiver.stop();
    expect((await examined({ database }))['inbox']).toBe(
      'warning: events: 1, of which 0 are not done; dead letters: 1 (ringback inbox events --state dead); ' +
        'unreadable deliveries: 1 (ringback inbox quarantine --kind unreadable); ' +
        'unauthenticated deliveries: 1 (ringback inbox quarantine)',
    );
  });

  it('leaves one that an older version wrote to its receiver', async () => {
    const database = join(folder(), 'inbox.db');
    new Database(database).exec('create table older (version)').close();
    expect((await examined({ database }))['database']).toBe(`ok: ${database} can be written`);
    const after = new Database(database);
    expect(after.pragma('journal_mode', { simple: true })).toBe('delete');
    expect(after.prepare("select name from sqlite_schema where type = 'table'").pluck().all()).toEqual([
      'older',
    ]);
    after.close();
  });

  it.each<[string, (file: string) => unknown, RegExp]>([
    [
      'a newer version wrote',
      async (file) => {
        await makeInbox(file);
        const database = new Database(file);
        database.pragma('user_version = 9999');
        database.close();
      },
      /^wrong: .*newer version/,
    ],
    [
      'somebody has changed',
      async (file) => {
        await makeInbox(file);
        const database = new Database(file);
        database.exec('drop table drift; create view drift as select 1');
        database.close();
      },
      /^wrong: .* it differs from the inbox of this version \(cannot modify drift because it is a view\)/,
    ],
    [
      'another program has',
      (file) => {
        const database = new Database(file);
        database.exec('pragma user_version = 7; create table orders (id)');
        database.close();
      },
      /^wrong: .* it belongs to another program.*a file of its own/,
    ],
    ['is none', (file) => writeFileSync(file, 'a text'.repeat(1_000)), /^wrong: .* can't be opened for writ/],
  ])('reports a database that %s', async (_what, prepare, expected) => {
    const database = join(folder(), 'inbox.db');
    await prepare(database);
    expect((await examined({ database }))['database']).toMatch(expected);
  });

  it.skipIf(process.getuid?.() === 0)('reports a database that can only be read', async () => {
    const database = join(folder(), 'inbox.db');
    await makeInbox(database);
    chmodSync(database, 0o444);
    expect((await examined({ database }))['database']).toMatch(
      /^wrong: .* can't be opened for writing: .* can only be read/,
    );
  });

  it('leaves a database that can be written byte by byte as it is', async () => {
    const database = join(folder(), 'inbox.db');
    await makeInbox(database);
    const before = readFileSync(database);
    expect((await examined({ database }))['database']).toBe(`ok: ${database} can be written`);
    expect(readFileSync(database).equals(before)).toBe(true);
  });

  it('reports a database that another process has locked', { tags: 'long' }, async () => {
    const database = join(folder(), 'inbox.db');
    const other = new Database(database);
    other.exec('begin exclusive');
    expect((await examined({ database }))['database']).toMatch(/^wrong: .*another process has locked it/);
    other.close();
  });

  it('reports secrets that are missing, malformed, unreadable or open to all', async () => {
    const files = folder({ secrets: `${secret}\n`, empty: '# none yet\n' });
    const found = async (environment: Environment) => (await examined({ environment }))['secret'];
    const foundIn = (name: string) => found({ RINGBACK_SECRETS_FILE: join(files, name) });
    expect(await found({})).toMatch(/^warning: neither RINGBACK_SECRETS nor/);
    expect(await found({ RINGBACK_SECRETS: 'private' })).toMatch(/^wrong: Secret 1 (?!.*private)/);
    expect(await foundIn('empty')).toMatch(/^wrong: .*it holds no secret/);
    expect(await foundIn('nowhere')).toMatch(/^wrong: The secrets file .*nowhere/);
    chmodSync(join(files, 'secrets'), 0o644);
    expect(await foundIn('secrets')).toMatch(/^warning: one secret, .* chmod 600 it\.$/);
    chmodSync(join(files, 'secrets'), 0o600);
    expect(await foundIn('secrets')).toMatch(/^ok: one secret, [0-9a-f]{8}$/);
  });

  it('knows which file systems will not do', () => {
    const network = { status: 'wrong', message: expect.stringContaining('NFS') as string };
    expect(fileSystemFinding(0x6969)).toMatchObject(network);
    const statuses = [0xfe534d42, 0x01021994, 0xef53].map((type) => fileSystemFinding(type).status);
    expect(statuses).toEqual(['wrong', 'warning', 'ok']);
  });

  it.each([
    [
      { RINGBACK_PLATFORM_KEY: 'a private key', RINGBACK_PLATFORM_URL: 'https://platform.example.com' },
      /The option RINGBACK_PLATFORM_KEY should be the platform's API key/,
    ],
    [
      { RINGBACK_PLATFORM_KEY: 'key', RINGBACK_PLATFORM_URL: 'http://platform.example.com' },
      /The option --platform should be the https address/,
    ],
    [{ RINGBACK_PUBLIC_URL: '/webhooks' }, /RINGBACK_PUBLIC_URL should be an http or https address/],
  ])('is misused with %j', async (env, sentence) => {
    const { code, stderr } = await ringback(['doctor'], { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toContain('a private key');
  });
});
