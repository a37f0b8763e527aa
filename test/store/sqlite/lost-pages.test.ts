/** What becomes of the database when the disk has refused a sync, below the receiver. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Checkpoint } from '../../../src/store/sqlite/writer/checkpoint.ts';
import { connect, openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import { prepareLookThrough } from '../../../src/store/sqlite/dedupe/earlier-identities.ts';
import { LogIndex } from '../../../src/store/sqlite/connection/wal-index.ts';
import { eventRow } from '../../../src/store/sqlite/work/record.ts';
import { prepareWriteGroup } from '../../../src/store/sqlite/writer/write-group.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { eventOf } from '../parts.ts';

function opened(file: string): Database.Database {
  const database = connect(file);
  onTestFinished(() => void database.close());
  return database;
}

/** The error of a sync that the disk has refused, as the driver throws it. */
const refusal = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });

test('after a sync of the database that failed, the log is written back from its beginning', () => {
  const file = temporaryDatabase();
  const database = opened(file);
  database.exec('create table notes (text)');
  const insert = database.prepare('insert into notes values (?)');
  const write = (count: number) => {
    for (let index = 0; index < count; index += 1) insert.run('x'.repeat(3_000));
  };
  write(20);
  // While somebody reads an older state, only a part of the log can be written back.
  const reader = opened(file);
  reader.exec('begin; select count(*) from notes');
  write(20);
  const sync = (): void => {
    // What was written back is not on disk.
    const pages = readFileSync(file).fill(0, 4_096);
    writeFileSync(file, pages);
    throw refusal;
  };
  const index = new LogIndex(database);
  expect(() => new Checkpoint(database, index, 'PASSIVE').run(sync)).toThrow(refusal);
  reader.exec('rollback');
  expect(new Checkpoint(database, index, 'TRUNCATE').run()).toMatchObject({ busy: 0 });

  const copy = temporaryDatabase();
  copyFileSync(file, copy);
  const alone = opened(copy);
  expect(alone.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(alone.prepare('select count(*) from notes').pluck().get()).toBe(40);
});

test('after a sync of the log that failed, nothing of the group is written before the log is in the database', () => {
  const file = temporaryDatabase();
  openDatabase(file).close();
  const database = opened(file);
  const prepare = database.prepare.bind(database);
  let refused = 0;
  vi.spyOn(database, 'prepare').mockImplementation((sql: string) => {
    const statement = prepare(sql);
    if (sql !== 'commit') return statement;
    const run = statement.run.bind(statement);
    vi.spyOn(statement, 'run').mockImplementation(() => {
      refused += 1;
      if (refused === 1) throw refusal;
      return run();
    });
    return statement;
  });
  const said: string[] = [];
  let isSure = false;
  const log = {
    hear: (error: unknown) => void said.push((error as { code: string }).code),
    makeSure: () => {
      if (!isSure) throw new Error('the log could not be written back');
    },
  };
  const holder = { id: 1, ensureEntered: () => {} };
  const write = prepareWriteGroup(database, holder, prepareLookThrough(database), log);
  const group = ['one', 'two', 'three'].map((traceId) => eventRow(eventOf(traceId), false));
  const count = () => database.prepare('select count(*) from events').pluck().get();

  expect(write(() => group)).toEqual(group.map(() => 'the log could not be written back'));
  expect(said).toEqual(['SQLITE_IOERR_FSYNC']);
  expect(count()).toBe(0);
  refused = 0;
  isSure = true;
  expect(write(() => group)).toEqual([-1, -2, -3]);
  expect(count()).toBe(3);
});
