/** What the writer thread does after the disk has refused a sync, on the test's own thread: no disk here does. */
import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connect, openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import { DatabaseFiles } from '../../../src/store/sqlite/connection/database-files.ts';
import { eventRow } from '../../../src/store/sqlite/work/record.ts';
import { BorrowedLock, answerRequest } from '../../../src/store/sqlite/writer/write-lock.ts';
import {
  type FromWriter,
  type WriteMessage,
  type WrittenMessage,
  newBatch,
  packed,
} from '../../../src/store/sqlite/writer/write-message.ts';
import { WriterThread } from '../../../src/store/sqlite/writer/writer-thread.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { eventOf } from '../parts.ts';

const failedSync = () => Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });

type Prepare = (this: Database.Database, sql: string) => Database.Statement;

/** Has the disk refuse all statements that begin with a text, until that is empty. */
function refusing() {
  const refused = { text: '' };
  const prepare = Reflect.get(Database.prototype, 'prepare') as Prepare;
  const refusingPrepare: Prepare = function (sql) {
    const statement = prepare.call(this, sql);
    const refuse = () => {
      if (refused.text !== '' && sql.startsWith(refused.text)) throw failedSync();
    };
    const [run, get] = [statement.run.bind(statement), statement.get.bind(statement)];
    statement.run = (...given: unknown[]) => {
      refuse();
      return run(...given);
    };
    statement.get = (...given: unknown[]) => {
      refuse();
      return get(...given);
    };
    return statement;
  };
  const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(refusingPrepare);
  onTestFinished(() => spy.mockRestore());
  return refused;
}

/** A writer thread, another connection to its database, and a function that records one event. */
async function opened() {
  const file = temporaryDatabase();
  openDatabase(file).close();
  const other = connect(file);
  const { port1, port2 } = new MessageChannel();
  const files = new DatabaseFiles(other, file).ids;
  const lock = new BorrowedLock();
  // A writer that grants its lock waits until it has it back, for ever on the thread of the app.
  const wait = Atomics.wait.bind(Atomics) as (
    ...given: readonly unknown[]
  ) => ReturnType<typeof Atomics.wait>;
  const spy = vi.spyOn(Atomics, 'wait').mockImplementation((...given: readonly unknown[]) => {
    if (given[0] === lock.memory) throw new Error('the writer has granted its lock');
    return wait(...given);
  });
  onTestFinished(() => spy.mockRestore());
  new WriterThread({ file, files, lock: lock.memory, port: port2 }).listen();
  await once(port1, 'message');
  lock.writerBegins(() => port1.postMessage('grant'));
  const answers: WrittenMessage[] = [];
  port1.on('message', (message: FromWriter) => {
    if (message === 'answered') lock.onAnswered();
    else if (typeof message === 'object' && 'results' in message) answers.push(message);
  });
  const isRefused = () => new Promise<boolean>((resolve) => lock.later(resolve));
  onTestFinished(async () => {
    port1.postMessage('close');
    await once(port1, 'close');
    other.close();
  });
  const send = async (message: WriteMessage): Promise<string> => {
    port1.postMessage(message);
    await expect.poll(() => answers.length).toBe(1);
    const [answer] = answers.splice(0);
    return answer?.failures[0]?.[1].message ?? 'written';
  };
  /** `bytes`: how many it is said to have, by which the size of the WAL is estimated. */
  const record = (traceId: string, bytes = 0): Promise<string> => {
    const batch = newBatch();
    batch.events.push({ item: eventRow(eventOf(traceId), false), onWritten: () => {}, onFailed: () => {} });
    return send({ ...packed(batch), bytes });
  };
  const scrub = (): Promise<string> => {
    const batch = newBatch(true);
    const item = { part: 'scrubbing', method: 'scrub', args: [{ compact: true, isRetry: false }] } as const;
    batch.operations.push({ item, onWritten: () => {}, onFailed: () => {} });
    return send(packed(batch));
  };
  return { other, record, scrub, isRefused };
}

test('after a failed sync, nothing is written until the WAL is empty and the disk has taken a write', async () => {
  const refused = refusing();
  const { other, record, isRefused } = await opened();
  expect(await record('first')).toBe('written');
  expect(await record('second')).toBe('written');
  other.exec('begin; select * from events');
  refused.text = 'commit';
  expect(await record('third')).toBe('disk I/O error');
  refused.text = '';
  expect(await record('third')).toBe('the WAL could not be checkpointed: it is in use');
  // What the app's own thread writes would be as unsafe.
  expect(await isRefused()).toBe(true);
  other.exec('commit');
  refused.text = 'insert into settings';
  await expect.poll(() => record('third')).toBe('disk I/O error');
  refused.text = '';
  await expect.poll(() => record('third')).toBe('written');
  expect(other.prepare('select trace_id from events').pluck().all()).toEqual(['first', 'second', 'third']);
});

/** Enough bytes to begin a checkpoint. */
const manyBytes = 100_000_000;

test(
  'a sync that fails in a checkpoint counts, because the kernel reports a failure only once',
  { tags: 'long' },
  async () => {
    const refused = refusing();
    const { other, record } = await opened();
    expect(await record('first')).toBe('written');
    other.exec('begin; select * from events');
    refused.text = 'pragma wal_checkpoint';
    // Once the checkpoint thread has done its part, the writer thread checkpoints the rest.
    expect(await record('second', manyBytes)).toBe('written');
    await expect.poll(() => record('third')).toBe('disk I/O error');
    refused.text = '';
    await expect.poll(() => record('third')).toBe('the WAL could not be checkpointed: it is in use');
    other.exec('commit');
    await expect.poll(() => record('third')).toBe('written');
  },
);

test('a sync that fails in the checkpoint at the start counts as well', { tags: 'long' }, async () => {
  const refused = refusing();
  const { other, record } = await opened();
  refused.text = 'pragma wal_checkpoint';
  expect(await record('first')).toBe('written');
  other.exec('begin; select * from events');
  expect(await record('second')).toBe('disk I/O error');
  refused.text = '';
  await expect.poll(() => record('second')).toBe('the WAL could not be checkpointed: it is in use');
  other.exec('commit');
  await expect.poll(() => record('second')).toBe('written');
});

test('a sync that fails while erased data is scrubbed counts as well', { tags: 'long' }, async () => {
  const { other, record, scrub } = await opened();
  expect(await record('first')).toBe('written');
  other.exec('begin; select * from events');
  const pragma = vi.spyOn(Database.prototype, 'pragma').mockImplementation(() => {
    throw failedSync();
  });
  expect(await scrub()).toBe('disk I/O error');
  pragma.mockRestore();
  await expect.poll(() => record('second')).toBe('the WAL could not be checkpointed: it is in use');
  other.exec('commit');
  await expect.poll(() => record('second')).toBe('written');
});

test('a request that is withdrawn while the writer tries the disk gets no lock', () => {
  const lock = new BorrowedLock();
  const answers: string[] = [];
  lock.writerBegins(() => {});
  lock.later(() => answers.push('granted'));
  const mayWrite = () => {
    // As the app does when it has waited for too long: the second number says whether the lock is requested.
    Atomics.store(lock.memory, 1, 0);
    return true;
  };
  answerRequest(lock.memory, mayWrite, () => answers.push('answered'));
  expect(answers).toEqual([]);
});

test('the writer learns of a disk that fails in a write of the app, and the app of one that has failed', () => {
  const lock = new BorrowedLock();
  let mayWrite = true;
  const answers: boolean[] = [];
  const answer = () =>
    answers.push(
      answerRequest(
        lock.memory,
        () => mayWrite,
        () => lock.onAnswered(),
      ),
    );
  lock.writerBegins(() => {});
  const failing = () => {
    throw failedSync();
  };
  const written: string[] = [];
  lock.later(() => expect(() => lock.now(failing)).toThrow('disk I/O error'));
  answer();
  mayWrite = false;
  lock.later((isRefused) => written.push(isRefused ? 'refused' : 'granted'));
  answer();
  mayWrite = true;
  lock.later((isRefused) => written.push(isRefused ? 'refused' : 'granted'));
  answer();
  expect(answers).toEqual([true, false, false]);
  expect(written).toEqual(['refused', 'granted']);
});
