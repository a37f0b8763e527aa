// @module-tag long
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readSecretFile } from '../../src/platform/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import { Running } from '../cli/command.ts';
import { listening } from '../support/servers.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { sandboxAndPlatform } from './support.ts';

/**
 * `ringback serve` in a process of its own. Its database is in memory, as that of the other: of some hundred writes to a
 * file, a busy machine may take longer over one than its sender waits.
 */
async function servingProcess(secretFile: string): Promise<string> {
  const env = { RINGBACK_SECRETS_FILE: secretFile, RINGBACK_PORT: '0', RINGBACK_INSECURE_HTTP: 'true' };
  return `${await new Running(['serve', '--database', ':memory:'], { env }).url()}/webhooks`;
}

/** A receiver in this process whose secrets are those of the file. */
async function receiverWithFunction(secretFile: string): Promise<string> {
  const receiver = testReceiver({ secrets: () => readSecretFile(secretFile) });
  onTestFinished(() => receiver.stop());
  await receiver.start();
  return `http://127.0.0.1:${await listening(receiver.nodeHandler())}/webhooks`;
}

/** Plays calls, several at a time, until it is told to stop. */
function continuousCalls(sandbox: Sandbox, atOnce: number) {
  const over = new AbortController();
  const play = async () => {
    while (!over.signal.aborted) await sandbox.calls.play({ scenario: 'unanalysed', duration: '5ms' });
  };
  const playing = Promise.all(Array.from({ length: atOnce }, play));
  return async () => {
    over.abort();
    await playing;
  };
}

/** Resolves when `more` further deliveries have been answered, whatever the answer. */
function answered(sandbox: Sandbox, more: number): Promise<void> {
  let left = more;
  return new Promise((resolve) => {
    const end = sandbox.attempts.watch(() => {
      left -= 1;
      if (left > 0) return;
      end();
      resolve();
    });
  });
}

test.each([
  ['ringback serve', servingProcess],
  ['a receiver that reads the file', receiverWithFunction],
])('two rotations reach %s in flight, and no delivery is refused', async (_, startReceiver) => {
  const { sandbox, platform } = await sandboxAndPlatform();
  const secretFile = join(temporaryFolder(), 'secrets');
  const wanted = { name: 'calls', url: 'https://calls.example.com/webhooks' };
  const { subscription } = await platform.subscriptions.ensure({ ...wanted, active: false }, { secretFile });
  const url = await startReceiver(secretFile);
  await platform.subscriptions.ensure({ ...wanted, url, active: true }, { secretFile });

  const endCalls = continuousCalls(sandbox, 4);
  await answered(sandbox, 40);
  for (let rotation = 1; rotation <= 2; rotation += 1) {
    const { secret } = await platform.subscriptions.rotateSecret(subscription.id, { secretFile });
    await answered(sandbox, 40);
    // Signed only with the new secret, like deliveries after the old one has expired.
    const delivery = () => buildDelivery('call-ended', { secret: secret.reveal() });
    await expect.poll(async () => (await deliverTo(url, delivery())).status).toBe(200);
    await answered(sandbox, 40);
  }
  await endCalls();

  const attempts = sandbox.attempts.list({ subscriptionId: subscription.id });
  expect(attempts.length).toBeGreaterThan(200);
  expect(attempts.filter(({ status }) => status !== 200)).toEqual([]);
  expect(readSecretFile(secretFile)).toHaveLength(3);
});
