/** Whose turn it is to write; `commit-thread-turn.ts` runs both threads. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Script } from '../../support/process.ts';

const script = fileURLToPath(new URL('../../faults/commit-thread-turn.ts', import.meta.url));

/** In a process of its own, because threads that block for ever would also block the test's timeout. */
test('one thread writes at a time, and both always get their turn, however they are held up', async () => {
  const threads = new Script(script, '120000');
  expect(await threads.line('together')).toMatchObject({ together: 0, lost: 0 });
});

test('a process does not end while it waits for its turn', async () => {
  const waiting = new Script(fileURLToPath(new URL('../../faults/turn-awaited.ts', import.meta.url)), '');
  expect(await waiting.line('written')).toEqual({ written: true });
});
