// @module-tag long
/** Who may write; `write-lock-contention.ts` runs both threads. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BorrowedLock, answerRequest } from '../../../src/store/sqlite/writer/write-lock.ts';
import { Script } from '../../support/process.ts';

const script = (name: string) => fileURLToPath(new URL(`./${name}.ts`, import.meta.url));

/** In a process of its own, because threads that block for ever would also block the test's timeout. */
test('one thread writes at a time, and the app always gets the lock, however long the threads are delayed', async () => {
  const threads = new Script(script('write-lock-contention'), '120000');
  expect(await threads.line('together')).toMatchObject({ together: 0, lost: 0 });
});

test('what waits for the lock gets it, although somebody else has given up waiting', () => {
  const lock = new BorrowedLock();
  lock.writerBegins(() => {});
  const written: string[] = [];
  lock.later(() => written.push('later'));
  expect(() => lock.now(() => written.push('now'))).toThrow('locked');
  answerRequest(
    lock.memory,
    () => true,
    () => lock.onAnswered(),
  );
  expect(written).toEqual(['later']);
});

test('a process does not end while it waits for the lock', async () => {
  const waiting = new Script(script('write-lock-awaited'), '');
  expect(await waiting.line('written')).toEqual({ written: true });
});
