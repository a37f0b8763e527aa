import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { type SignedDelivery, buildDelivery } from '../../src/testing/delivery.ts';
import { deliver } from '../../src/testing/deliver.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import { Discard } from '../support/public.ts';
import { folder, otherSecret, ringback, secret } from './command.ts';

/** What the receiver is run with whose inbox it is. */
export const env = { RINGBACK_SECRETS: secret };

/** An app file with one handler. */
export function appWith(handler: string): string {
  return `import { Discard, RetryLater } from 'ringback';
    export default (receiver) => receiver.on('*', { name: 'journal' }, ${handler});`;
}

interface Trouble {
  readonly app?: string;
  /** What is delivered besides. */
  readonly besides?: readonly SignedDelivery[];
}

/** What an operator finds: a dead letter, an event that went well, and what somebody sent who does not have the secret. */
export async function inboxWithTrouble({
  app = appWith('() => {}'),
  besides = [],
}: Trouble = {}): Promise<string> {
  const cwd = folder({ 'app.mjs': app });
  const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db') });
  receiver.on('*', { name: 'journal' }, ({ traceId }) => {
    if (traceId === 't-dead') throw new Discard('the journal is full');
  });
  await receiver.start();
  for (const traceId of ['t-well', 't-dead'])
    await deliver(receiver, buildDelivery('call-ended', { secret, traceId }));
  await deliver(receiver, buildDelivery('call-ended', { secret: otherSecret }));
  for (const delivery of besides) await deliver(receiver, delivery);
  const isDone = async () => (await receiver.counts()).events.new === 0;
  while (!(await isDone())) await setImmediate();
  await receiver.stop();
  return cwd;
}

/** Runs the command, which is to end well, and reads what it has printed; where that is nothing, it says so. */
export async function linesOf(cwd: string, ...args: readonly string[]): Promise<unknown[]> {
  const { code, stdout, stderr } = await ringback(['inbox', ...args], { env, cwd });
  const lines = stdout.split('\n').filter((line) => line !== '');
  const said = lines.length > 0 ? '' : expect.stringMatching(/^ringback: no [a-z ]+ matches\n$/v);
  expect([code, stderr]).toEqual([0, said]);
  return lines.map((line) => JSON.parse(line) as unknown);
}
