/** Whether what is in SQLite's log may count, below the receiver. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { LogFile } from '../../src/store/sqlite/log-file.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** A database with something in its log, and its log's file, that counts how often it is written back. */
function logFile({ canWriteBack = true } = {}) {
  const database = new Database(temporaryDatabase());
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  database.exec('create table notes (text)');
  const state = { writtenBack: 0, canWriteBack };
  const log = new LogFile(database, () => {
    if (!state.canWriteBack) throw new Error('the log could not be written back');
    state.writtenBack += 1;
  });
  return { log, state };
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
  const { log, state } = logFile({ canWriteBack: false });
  // A file that is closed can't be synced: the kernel refuses, as it does for a broken disk.
  log.close();
  expect(() => log.sync()).toThrow('EBADF');
  expect(() => log.makeSure()).toThrow('the log could not be written back');
  expect(() => log.sync()).toThrow('the log could not be written back');
  state.canWriteBack = true;
  log.makeSure();
  log.makeSure();
  expect(state.writtenBack).toBe(1);
});

test('a disk error of another connection makes it doubtful as well', () => {
  const { log, state } = logFile();
  log.doubt();
  log.sync();
  log.sync();
  expect(state.writtenBack).toBe(1);
  log.close();
});
