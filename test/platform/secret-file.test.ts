import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readSecretFile } from '../../src/platform/index.ts';
import { Script } from '../support/process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { sandboxAndPlatform } from './support.ts';

const wanted = { name: 'calls', url: 'https://calls.example.com/webhooks' };
const writing = fileURLToPath(new URL('secret-writing-process.ts', import.meta.url));
const passing = fileURLToPath(new URL('lock-passing-process.ts', import.meta.url));

test('processes that write one file at the same time lose no secret', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'secrets');
  const names = ['one', 'two', 'three'];
  const scripts = names.map((name) => new Script(writing, JSON.stringify({ file, name, count: 60 })));
  for (const script of scripts) expect(await script.line('written')).toEqual({ written: true });
  expect(new Set(readSecretFile(file)).size).toBe(180);
  expect(readdirSync(folder)).toEqual(['secrets']);
});

test('a process waits for all that write before it, however many they are', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'secrets');
  const others = new Script(passing, file);
  await others.line('held');
  const script = new Script(writing, JSON.stringify({ file, name: 'one', count: 1 }));
  expect(await others.line('wasWritten')).toEqual({ wasWritten: false });
  await script.line('written');
  expect(readSecretFile(file)).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(['secrets']);
});

test('a process that was killed while it wrote holds nobody up', async () => {
  const { platform } = await sandboxAndPlatform();
  const folder = temporaryFolder();
  const secretFile = join(folder, 'secrets');
  writeFileSync(`${secretFile}.lock`, '');
  const { secret } = await platform.subscriptions.create(wanted, { secretFile });
  expect(readSecretFile(secretFile)).toEqual([secret?.reveal()]);
  expect(readdirSync(folder)).toEqual(['secrets']);
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
