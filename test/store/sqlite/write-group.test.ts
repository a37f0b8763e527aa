/** What a group of writes does when the disk refuses a sync, below the receiver: no disk here does. */
import type Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connect, openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import { prepareStatements } from '../../../src/store/sqlite/connection/statements.ts';
import { eventRow } from '../../../src/store/sqlite/work/record.ts';
import { prepareWriteGroup } from '../../../src/store/sqlite/writer/write-group.ts';
import type { Operation, Writes } from '../../../src/store/sqlite/writer/write-message.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { eventOf } from '../parts.ts';

/** A connection, and how its groups are written. */
function opened() {
  const file = temporaryDatabase();
  openDatabase(file).close();
  const database = connect(file);
  onTestFinished(() => void database.close());
  const prepare = () => prepareWriteGroup(database, prepareStatements(database, 1));
  const count = () => database.prepare('select count(*) from events').pluck().get();
  return { database, prepare, count };
}

/** Calls back with the number of each of the database's commits, counted from 1, before it is made. */
function beforeCommits(database: Database.Database, onCommit: (count: number) => void): void {
  let commits = 0;
  const prepare = database.prepare.bind(database);
  vi.spyOn(database, 'prepare').mockImplementation((sql: string) => {
    const statement = prepare(sql);
    if (sql !== 'commit') return statement;
    const run = statement.run.bind(statement);
    vi.spyOn(statement, 'run').mockImplementation(() => {
      commits += 1;
      onCommit(commits);
      return run();
    });
    return statement;
  });
}

/** Has one of the database's commits fail with this error: the one after the first ones. */
function refuseCommit(database: Database.Database, code: string, after = 0): void {
  beforeCommits(database, (count) => {
    if (count === after + 1) throw Object.assign(new Error('disk I/O error'), { code });
  });
}

const none: Writes = { events: [], ends: [], operations: [] };
const events = ['one', 'two', 'three'].map((traceId) => eventRow(eventOf(traceId), false));

test.each(['SQLITE_IOERR_FSYNC', 'SQLITE_FULL'])('after %s nothing of the group is tried again', (code) => {
  const { database, prepare, count } = opened();
  refuseCommit(database, code);
  const written = prepare()({ ...none, events });
  const failure = { message: 'disk I/O error', code };
  expect(written).toEqual({
    results: events.map(() => undefined),
    failures: events.map((_, index) => [index, failure]),
    isChanged: false,
    diskFailure: failure,
  });
  expect(count()).toBe(0);
});

/** An operation that throws. */
const broken: Operation = { part: 'settling', method: 'settle', args: [undefined] };
const sync: Operation = { part: 'disk', method: 'sync', args: [] };
const probe: Operation = { part: 'disk', method: 'probe', args: [] };

test('a write that fails by itself takes no other with it', () => {
  const { prepare, count } = opened();
  const done = prepare()({ events, ends: [{ sequence: 99, process: 1 }], operations: [broken, sync] });
  const recorded = (sequence: number) => ({ sequence, claimedBy: undefined });
  expect(done?.results).toEqual([recorded(1), recorded(2), recorded(3), false, undefined, undefined]);
  expect(done?.failures).toEqual([[4, { message: expect.any(String), code: undefined }]]);
  expect(done).toMatchObject({ isChanged: true, diskFailure: undefined });
  expect(count()).toBe(3);
});

test('a sync is one, also if nothing else has changed the database; a probe leaves the disk alone', () => {
  const { prepare } = opened();
  const write = prepare();
  expect(write({ ...none, ends: [{ sequence: 99, process: 1 }] })).toMatchObject({
    results: [false],
    failures: [],
    isChanged: false,
  });
  expect(write({ ...none, ends: [{ sequence: 99, process: 1 }], operations: [sync] })).toMatchObject({
    isChanged: true,
  });
  expect(write({ ...none, operations: [probe] })).toMatchObject({ isChanged: false });
});

test('a write that fails among many costs few commits', () => {
  const { database, prepare } = opened();
  let commits = 0;
  beforeCommits(database, (count) => (commits = count));
  const syncs = Array.from({ length: 100 }, () => sync);
  const done = prepare()({ ...none, operations: [...syncs, broken, ...syncs] });
  expect(done?.failures).toMatchObject([[100, {}]]);
  expect(commits).toBeLessThan(20);
});

test.each([
  ['SQLITE_IOERR_FSYNC', true],
  ['SQLITE_BUSY', false],
])('of writes that are made in parts, none is made after %s', (code, isDiskFailure) => {
  const { database, prepare, count } = opened();
  refuseCommit(database, code, 1);
  const done = prepare()({ ...none, events, operations: [sync, broken] });
  const failure = { message: 'disk I/O error', code };
  const recorded = (sequence: number) => ({ sequence, claimedBy: undefined });
  expect(done?.results).toEqual([recorded(1), recorded(2), recorded(3), undefined, undefined]);
  expect(done?.failures).toEqual([
    [3, failure],
    [4, failure],
  ]);
  expect(done?.diskFailure).toEqual(isDiskFailure ? failure : undefined);
  expect(count()).toBe(3);
});
