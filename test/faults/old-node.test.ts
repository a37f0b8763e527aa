import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { createReceiver } from '../support/public.ts';
import { secret } from '../support/deliveries.ts';

/** What Node 20 lacks. A module that imports it by name can't be loaded there, and nothing says which Node is needed. */
const newer = new Set([
  'enableCompileCache',
  'findPackageJSON',
  'getCallSites',
  'getSystemErrorMessage',
  'registerHooks',
]);

describe('on a Node that is too old for the database driver', () => {
  it('every module can be loaded', () => {
    const sources = new URL('../../src/', import.meta.url).pathname;
    const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const named = /^import (?!type)[^;]*\{([^}]*)\}[^;]* from 'node:[^']+';$/gm;
    const lacking = files.filter((name) =>
      [...readFileSync(join(sources, name), 'utf8').matchAll(named)].some(([, names = '']) =>
        names.split(',').some((one) => newer.has(one.trim().split(' ')[0] ?? '')),
      ),
    );
    expect(files.length).toBeGreaterThan(0);
    expect(lacking).toEqual([]);
  });

  const { versions } = process;

  beforeEach(() => {
    Object.defineProperty(process, 'versions', { value: { ...versions, napi: '9', node: '20.1.0' } });
  });

  afterEach(() => {
    Object.defineProperty(process, 'versions', { value: versions });
  });

  const receiver = () => createReceiver({ secrets: secret, database: ':memory:' });

  it.each<[string, () => unknown]>([
    ['a sandbox', () => createSandbox()],
    ["a receiver's start", () => receiver().start()],
    ["a receiver's database", () => receiver().database.exec('create table mine (id text)')],
    ['a test receiver', () => testReceiver().start()],
  ])('%s says which one it needs, and does not load it', async (_what, open) => {
    const message = expect.stringMatching(/needs Node 22\.14 or later .* runs on Node 20\.1\.0/);
    await expect((async () => open())()).rejects.toMatchObject({ code: 'node_too_old', message });
  });
});
