/** When writes in SQLite's log may count, tested below the receiver. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { LogFile } from '../../../src/store/sqlite/connection/wal-file.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

/** The log file of a database with something in its log; counts how often it is written back. */
function logFile({ canWriteBack = true } = {}) {
  const database = new Database(temporaryDatabase());
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  database.exec('create table notes (text)');
  const clock = new ManualClock();
  const state = { writtenBack: 0, tries: 0, canWriteBack };
  const log = new LogFile(database, clock, () => {
    state.tries += 1;
    if (!state.canWriteBack) throw new Error('the log could not be written back');
    state.writtenBack += 1;
  });
  return { log, state, clock };
}

/** An error as the driver throws it. */
function diskError(code: string): Error {
  return Object.assign(new Error('the disk refused'), { code });
}

test('a log whose syncs succeed is not written back for it', () => {
  const { log, state } = logFile();
  log.sync();
  log.makeSure();
  log.sync();
  expect(state.writtenBack).toBe(0);
  log.close();
});

test('after a sync that failed nothing counts until the log has been written back', () => {
  const { log, state, clock } = logFile({ canWriteBack: false });
  // A closed file can't be synced: the kernel returns an error, as it does for a broken disk.
  log.close();
  expect(() => log.sync()).toThrow('EBADF');
  expect(() => log.makeSure()).toThrow('the log could not be written back');
  expect(() => log.sync()).toThrow('the log could not be written back');
  state.canWriteBack = true;
  // Each try may take long, so there is at most one a second.
  clock.advance(999);
  expect(() => log.makeSure()).toThrow('the log could not be written back');
  expect(state.tries).toBe(1);
  clock.advance(1);
  log.makeSure();
  log.makeSure();
  expect(state.writtenBack).toBe(1);
});

test('after the disk was full nothing is added until the log has been written back, and what is there counts', () => {
  const { log, state, clock } = logFile({ canWriteBack: false });
  log.hear(diskError('SQLITE_FULL'));
  expect(() => log.makeSure()).toThrow('the log could not be written back');
  log.sync();
  state.canWriteBack = true;
  clock.advance(1_000);
  log.makeSure();
  log.makeSure();
  expect(state).toMatchObject({ tries: 2, writtenBack: 1 });
  log.close();
});

test('a disk error of another connection makes it doubtful as well', () => {
  const { log, state } = logFile();
  log.hear(diskError('SQLITE_IOERR_FSYNC'));
  log.sync();
  log.sync();
  expect(state.writtenBack).toBe(1);
  log.close();
});

test('a log that may have been left by a process whose sync failed begins anew, if nobody uses it', () => {
  const { log, state } = logFile({ canWriteBack: false });
  log.beginAnew();
  log.makeSure();
  expect(state).toMatchObject({ tries: 1, writtenBack: 0 });
  state.canWriteBack = true;
  log.beginAnew();
  expect(state.writtenBack).toBe(1);
  log.close();
});
