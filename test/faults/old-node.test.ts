import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { createReceiver } from '../support/public.ts';
import { secret } from '../support/deliveries.ts';

describe('on a Node that is too old for the database driver', () => {
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
