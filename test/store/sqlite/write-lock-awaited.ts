/** A process that only waits for the write lock, which the writer grants when nothing else goes on. */
import { setTimeout as wait } from 'node:timers/promises';
import { BorrowedLock, answerRequest } from '../../../src/store/sqlite/writer/write-lock.ts';

const lock = new BorrowedLock();
lock.writerBegins(() => {});
lock.later(() => process.stdout.write(`${JSON.stringify({ written: true })}\n`));
// As the writer thread, this holds no process. The lock is used at once, and so the writer is not blocked.
void wait(50, undefined, { ref: false }).then(() =>
  answerRequest(
    lock.memory,
    () => true,
    () => lock.onAnswered(),
  ),
);
