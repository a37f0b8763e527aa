// @module-tag long
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { Running, folder, main, secret } from './command.ts';
import { inboxWithTrouble } from './inbox-support.ts';

/** A device that is always full; Linux has it. */
const fullDevice = '/dev/full';

describe.runIf(existsSync(fullDevice))('output to a full disk', () => {
  it.each([['events'], ['erase', '--call-id', 'call_0001']])(
    'is a failure that is reported in a sentence: inbox %s',
    async (...args) => {
      const cwd = await inboxWithTrouble();
      const full = openSync(fullDevice, 'w');
      const { status, stderr } = spawnSync(process.execPath, [main, 'inbox', ...args], {
        cwd,
        stdio: ['ignore', full, 'pipe'],
        encoding: 'utf8',
      });
      closeSync(full);
      expect(status).toBe(1);
      expect(stderr).toMatch(
        /^ringback: The output should be written to stdout, but it can't be: .*\. Free some space.*\n$/,
      );
    },
  );
});

/** Stands in for a terminal that takes no more lines: what writes to one doesn't see the difference. */
const asTerminal = ['--import', 'data:text/javascript,process.stdout.isTTY=true'];

it.runIf(existsSync(fullDevice)).each([
  ['a terminal that has closed', asTerminal],
  ['a full disk', []],
])('%s takes no line of serve or its app, which goes on', async (_, node) => {
  const port = await freePort();
  const cwd = folder({ 'app.mjs': "export default () => console.log('registered');" });
  const full = openSync(fullDevice, 'w');
  const child = spawn(
    process.execPath,
    [...node, main, 'serve', '--app', 'app.mjs', '--port', String(port)],
    {
      cwd,
      env: { ...process.env, RINGBACK_SECRETS: secret },
      stdio: ['ignore', full, 'ignore'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  closeSync(full);
  const ready = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status);
  await expect.poll(() => ready().catch(() => undefined), { timeout: 10_000 }).toBe(200);
  child.kill();
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('a reader of stderr that has left does not make a command fail', async () => {
  const command = new Running(['inbox', 'events', '--event-name', 'None'], { cwd: await inboxWithTrouble() });
  // Long before the command remarks that no event matches.
  command.child.stderr?.destroy();
  expect(await command.ended()).toMatchObject({ code: 0, stdout: '' });
});
