// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

test('a logger that throws costs no delivery its answer, and no run its end', async () => {
  let isBroken = false;
  const write = () => {
    if (isBroken) throw new Error('no room for this line');
  };
  const { receiver } = await started({ logger: pino({ level: 'debug' }, { write }) }, (on) => {
    on.on('*', { name: 'done' }, () => {});
    on.on('*', { name: 'dead', retry: { attempts: 1 } }, () => {
      throw new Error('no');
    });
  });
  isBroken = true;
  expect((await deliver(receiver, bodyOf())).status).toBe(200);
  await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(1);
  expect(await receiver.counts()).toMatchObject({ events: { done: 1 }, runs: { dead: 1 } });
  await receiver.stop();
});

const script = fileURLToPath(new URL('./full-output.ts', import.meta.url));

test.skipIf(!existsSync('/dev/full'))(
  'a log that goes to a full disk neither ends the process nor keeps it from ending',
  async () => {
    const output = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [script], { stdio: ['ignore', output, 'pipe'] });
    let written = '';
    child.stderr?.on('data', (text: Buffer) => (written += text.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, written }).toEqual({ code: 0, written: '200 200 done: 2' });
  },
);
