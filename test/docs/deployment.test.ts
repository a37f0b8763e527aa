// @module-tag long
/** Runs the programs of docs/deployment.md as they are there, with other addresses, against a sandbox. */
import { randomUUID } from 'node:crypto';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { startProgram } from '../package/program.ts';
import { startedSandbox } from '../sandbox/support.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { codeBlocks, root } from './documents.ts';

it('the receiver of the documents needs the platform only for its first start', async () => {
  const sandbox = await startedSandbox({ speed: 1000 });
  const run = await programs(sandbox);

  const first = run('subscribe()');
  await first.written(': unchanged');
  expect(first.text()).toMatch(/: created\n/);
  expect(await endOfCall(sandbox, first)).toBe('handled');
  await first.kill();

  sandbox.fail('subscriptions', 1_000);
  const second = run('subscribe()');
  await second.line('receiver_started');
  expect(await endOfCall(sandbox, second)).toBe('handled');
  await second.kill();
  sandbox.fail('subscriptions', 0);
});

it('the receiver of the documents gets a new secret when its file is lost', async () => {
  const sandbox = await startedSandbox({ speed: 1000 });
  const run = await programs(sandbox);
  const receiver = run('subscribe()');
  await receiver.written(': unchanged');

  rmSync(run.secretFile);
  const another = run('subscribe()');
  await expect(another.line('receiver_started')).rejects.toThrow(/secret_not_in_file[^]*secrets_unavailable/);

  await run('rotateSecret').written(': rotated');
  expect(await endOfCall(sandbox, receiver)).toBe('handled');
  await receiver.kill();
  const restarted = run('subscribe()');
  await restarted.written(': unchanged');
  expect(restarted.text()).not.toContain('secret_not_in_file');
  expect(await endOfCall(sandbox, restarted)).toBe('handled');
});

/** Starts programs of the document in a folder of their own, with a database, secrets and a port of their own. */
async function programs(sandbox: Sandbox) {
  const cwd = temporaryFolder();
  const secretFile = join(cwd, 'secrets');
  const port = String(await freePort());
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const env = { PLATFORM_URL: sandbox.url, PLATFORM_KEY: sandbox.apiKey ?? '' };
  const changes = [
    ["'ringback'", `'${join(root, 'src/index.ts')}'`],
    ["'ringback/platform'", `'${join(root, 'src/platform/index.ts')}'`],
    ['/etc/ringback/secrets', secretFile],
    ['/var/lib/calls/ringback.db', join(cwd, 'ringback.db')],
    ["{ trustProxy: 'loopback' }", '{ required: false }'],
    ['https://calls.example.com', `http://127.0.0.1:${port}`],
    ['8080', port],
  ] as const;
  const run = (text: string) => {
    const code = codeBlocks('docs/deployment.md', 'ts').find((block) => block.includes(text)) ?? '';
    const file = join(cwd, `${randomUUID()}.mts`);
    writeFileSync(
      file,
      changes.reduce((changed, [from, to]) => changed.replaceAll(from, to), code),
    );
    const program = startProgram(process.execPath, [file], { cwd, env });
    onTestFinished(() => program.kill());
    return program;
  };
  return Object.assign(run, { secretFile });
}

/**
 * Plays calls until one is not given up, and waits until the program's handler has run for its end. At this speed all
 * attempts of a delivery may be over before a program that has just started listens.
 */
async function endOfCall(sandbox: Sandbox, program: ReturnType<typeof startProgram>): Promise<'handled'> {
  const isGivenUp = (id: string) => sandbox.deliveries.givenUp().some(({ callId }) => callId === id);
  let callId: string;
  do {
    callId = randomUUID();
    await sandbox.calls.play({ callId });
  } while (isGivenUp(callId));
  await program.written(`call ${callId} has ended`);
  return 'handled';
}
