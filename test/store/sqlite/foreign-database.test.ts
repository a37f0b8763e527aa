import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { createReceiver } from '../../../src/index.ts';
import { startedSandbox } from '../../sandbox/support.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const receiverOn = (database: string) =>
  createReceiver({ secrets: 'whsec_dGVzdA==', database, logger: { level: 'silent' } });

describe('the database of another program', () => {
  test.each<[string, string, string]>([
    ['a version of its own', 'create table invoices (id); pragma user_version = 7', 'user_version 7'],
    ['the version of an inbox', 'create table events (id); pragma user_version = 1', 'user_version 1'],
    ['nothing but a version', 'pragma user_version = 1', 'user_version 1'],
    ['a mark of its own', 'create table a (id); pragma application_id = 42', 'application_id 42'],
    ['tables of our names', 'create table Events (id); create view runs as select 1', '(events, runs)'],
  ])('with %s is refused with what to do, and left as it is', async (_what, sql, found) => {
    const database = temporaryDatabase();
    const other = new Database(database);
    other.exec(sql);
    const before = other.serialize();
    await expect(receiverOn(database).start()).rejects.toMatchObject({
      code: 'database_foreign',
      message: expect.stringMatching(/it .*another program.* Give the inbox a file of its own, and create/),
    });
    expect(() => receiverOn(database).database.exec('select 1')).toThrow(found);
    expect(other.serialize()).toEqual(before);
    other.close();
  });

  test('that is a sandbox is refused as one', async () => {
    const database = temporaryDatabase();
    await (await startedSandbox({ database })).stop();
    await expect(receiverOn(database).start()).rejects.toMatchObject({
      code: 'database_foreign',
      message: expect.stringContaining('it is the database of a sandbox. Give'),
    });
  });
});

describe('an inbox', () => {
  test('stays one, whatever tables and mark its users give it', async () => {
    const database = temporaryDatabase();
    const first = receiverOn(database);
    first.database.exec('create table invoices (id); pragma application_id = 42');
    await first.start();
    await first.stop();
    const second = receiverOn(database);
    await second.start();
    await second.stop();
    const after = new Database(database, { readonly: true });
    expect(after.pragma('application_id', { simple: true })).toBe(42);
    after.close();
  });
});
