// @module-tag long
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Script } from '../../support/process.ts';
import { temporaryFolder } from '../../support/temporary.ts';

test('an app that moves to another folder keeps its inbox where it was made', async () => {
  const [home, elsewhere] = [temporaryFolder(), temporaryFolder()];
  const script = fileURLToPath(new URL('./moving-process.ts', import.meta.url));
  const app = new Script(script, JSON.stringify({ home, elsewhere }));
  expect(await app.line('status')).toEqual({ status: 200 });
  expect(await app.exit()).toBe(0);
  expect([readdirSync(home), readdirSync(elsewhere)]).toEqual([['inbox.db'], []]);
});
