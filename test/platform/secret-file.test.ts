// @module-tag long
import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { readSecretFile } from '../../src/platform/index.ts';
import { Script } from '../support/process.ts';
import { listening } from '../support/servers.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { answered, clientOf, sandboxAndPlatform, standIn } from './support.ts';

const wanted = { name: 'calls', url: 'https://calls.example.com/webhooks' };
const writing = fileURLToPath(new URL('secret-writing-process.ts', import.meta.url));
const holding = fileURLToPath(new URL('lock-holding-process.ts', import.meta.url));
const asking = fileURLToPath(new URL('secret-asking-process.ts', import.meta.url));

test('processes that write one file at the same time lose no secret', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'secrets');
  const names = ['one', 'two', 'three'];
  const scripts = names.map((name) => new Script(writing, JSON.stringify({ file, name, count: 60 })));
  for (const script of scripts) expect(await script.line('written')).toEqual({ written: true });
  expect(new Set(readSecretFile(file)).size).toBe(180);
  expect(readdirSync(folder)).toEqual(['secrets', 'secrets.lock']);
  expect(statSync(`${file}.lock`)).toMatchObject({ size: 0, mode: 0o100600 });
});

test('a process waits for the one that writes before it, until that is done or killed', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'secrets');
  const sign = join(temporaryFolder(), 'sign');
  const other = new Script(holding, JSON.stringify({ file, sign }));
  await other.line('held');
  const script = new Script(writing, JSON.stringify({ file, name: 'one', count: 1 }));
  await script.line('asks');
  writeFileSync(sign, '');
  expect(await other.line('wasWritten')).toEqual({ wasWritten: false });
  await script.line('written');
  expect(readSecretFile(file)).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(['secrets', 'secrets.lock']);
});

/** Takes the lock of a secrets file, as another process would. Returns the function that releases it. */
function lockOf(file: string): () => void {
  const database = new Database(`${file}.lock`);
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = memory');
  database.exec('begin exclusive');
  return () => void database.exec('rollback');
}

test('a lock that another process holds is waited for before a secret is issued', async () => {
  const { url, received } = await standIn({ json: { ...answered, secret: 'whsec_bmV3' } });
  const folder = temporaryFolder();
  const secretFile = join(folder, 'secrets');
  const release = lockOf(secretFile);
  await expect(clientOf(url).platform.subscriptions.create(wanted, { secretFile })).rejects.toMatchObject({
    code: 'secret_file_unwritable',
    message: expect.stringContaining(`another process has held its lock ${secretFile}.lock for 10 s`),
  });
  expect(received).toEqual([]);
  expect(readdirSync(folder)).toEqual(['secrets.lock']);
  release();
  await clientOf(url).platform.subscriptions.create(wanted, { secretFile });
  expect(readSecretFile(secretFile)).toEqual(['whsec_bmV3']);
});

test('a signal ends the wait for a lock', async () => {
  const { url, received } = await standIn({ json: answered });
  const folder = temporaryFolder();
  const secretFile = join(folder, 'secrets');
  lockOf(secretFile);
  const controller = new AbortController();
  const { signal } = controller;
  const creating = clientOf(url).platform.subscriptions.create(wanted, { secretFile, signal });
  controller.abort(new Error('enough'));
  await expect(creating).rejects.toThrow('enough');
  expect(received).toEqual([]);
  expect(readdirSync(folder)).toEqual(['secrets.lock']);
});

// Not everywhere may a process mount something.
test.skipIf(spawnSync('unshare', ['-rm', 'true']).status !== 0)(
  'a file that is mounted by itself is refused before there is a secret',
  async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'secrets');
    writeFileSync(file, 'whsec_before\n');
    const argument = JSON.stringify({ file, name: 'one', count: 1 });
    const mounting = 'mount --bind "$1" "$1" && exec "$2" "$3" "$4"';
    const command = ['-rm', 'sh', '-c', mounting, 'sh', file, process.execPath, writing, argument];
    const { stdout } = await promisify(execFile)('unshare', command);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({
      refused: 'secret_file_unwritable',
      message: expect.stringContaining(`${file} is mounted as a single file, so it can't be replaced.`),
    });
    expect(readFileSync(file, 'utf8')).toBe('whsec_before\n');
    expect(readdirSync(folder)).toEqual(['secrets', 'secrets.lock']);
  },
);

test.each<[string, (path: string) => void]>([
  ['a link that leads nowhere', (path) => symlinkSync('nowhere', path)],
  ['a link to a file', (path) => symlinkSync('secrets', path)],
  ['a folder', (path) => mkdirSync(path)],
  ['a file with content', (path) => writeFileSync(path, 'of somebody else')],
])('a lock that is %s is refused before there is a secret', async (_, make) => {
  const folder = temporaryFolder();
  const file = join(folder, 'secrets');
  writeFileSync(file, 'whsec_before\n');
  make(`${file}.lock`);
  // In a process of its own: a lock that is waited for without an end would hold up the thread of the test.
  const script = new Script(writing, JSON.stringify({ file, name: 'one', count: 1 }));
  expect(await script.line('refused')).toEqual({
    refused: 'secret_file_unwritable',
    message: expect.stringContaining(`${file}.lock should be an empty file, or not there yet, but is`),
  });
  expect(readSecretFile(file)).toEqual(['whsec_before']);
  expect(readdirSync(folder)).toEqual(['secrets', 'secrets.lock']);
});

test('the lock of a killed process blocks nobody, and two processes that find it lose no secret', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'secrets');
  writeFileSync(`${file}.lock`, '');
  const scripts = ['one', 'two'].map((name) => new Script(writing, JSON.stringify({ file, name, count: 1 })));
  for (const script of scripts) await script.line('written');
  expect(readSecretFile(file)).toHaveLength(2);
});

test('a process that is killed while it asks for a secret leaves no file behind', async () => {
  const asked = Promise.withResolvers<void>();
  const port = await listening(() => asked.resolve());
  const folder = temporaryFolder();
  const secretFile = join(folder, 'secrets');
  const script = new Script(asking, JSON.stringify({ baseUrl: `http://127.0.0.1:${port}`, secretFile }));
  await asked.promise;
  await script.kill();
  expect(readdirSync(folder)).toEqual(['secrets.lock']);
});

test('what a process has left behind that was killed while it wrote is replaced', async () => {
  const { platform } = await sandboxAndPlatform();
  const folder = temporaryFolder();
  const secretFile = join(folder, 'secrets');
  writeFileSync(`${secretFile}.ringback-new`, 'whsec_half');
  const { secret } = await platform.subscriptions.create(wanted, { secretFile });
  expect(readSecretFile(secretFile)).toEqual([secret?.reveal()]);
  expect(readdirSync(folder)).toEqual(['secrets', 'secrets.lock']);
});

test('a link to a file that is not there yet makes that file, and stays a link', async () => {
  const { platform } = await sandboxAndPlatform();
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'volume'));
  const link = join(folder, 'link');
  symlinkSync('volume/secrets', link);
  const { secret } = await platform.subscriptions.create(wanted, { secretFile: link });
  expect(existsSync(join(folder, 'volume', 'secrets'))).toBe(true);
  expect(readSecretFile(join(folder, 'volume', 'secrets'))).toEqual([secret?.reveal()]);
});
