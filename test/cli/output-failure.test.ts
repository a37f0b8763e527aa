// @module-tag long
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { main } from './command.ts';
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
