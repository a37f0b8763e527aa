import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { type SignedDelivery, buildDelivery } from '../../src/testing/delivery.ts';
import { deliver } from '../../src/testing/deliver.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import { ManualClock } from '../support/clock.ts';
import { Discard } from '../support/public.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { folder, otherSecret, ringback, secret } from './command.ts';

/** The environment of the command, with the secret of the receiver that filled the inbox. */
export const env = { RINGBACK_SECRETS: secret };

/** An app file with one handler. */
export function appWith(handler: string): string {
  return `import { Discard, RetryLater } from 'ringback';
    export default (receiver) => receiver.on('*', { name: 'journal' }, ${handler});`;
}

interface Trouble {
  readonly app?: string;
  /** Further deliveries to the inbox. */
  readonly besides?: readonly SignedDelivery[];
}

/** An inbox as an operator finds it: a dead letter, which came twice, an event that is done, and a delivery with a wrong secret. */
export async function inboxWithTrouble({
  app = appWith('() => {}'),
  besides = [],
}: Trouble = {}): Promise<string> {
  const cwd = folder({ 'app.mjs': app });
  const database = join(cwd, 'ringback.db');
  if (besides.length > 0) await makeTrouble(database, besides);
  else writeFileSync(database, await usualTrouble());
  return cwd;
}

let usual: Promise<Buffer> | undefined;

/** The file of the inbox that most tests begin with: made once, because to make it takes longer than most of them. */
function usualTrouble(): Promise<Buffer> {
  const database = temporaryDatabase();
  return (usual ??= makeTrouble(database, []).then(() => readFileSync(database)));
}

/** Fills the inbox of a database with it. */
export async function makeTrouble(database: string, besides: readonly SignedDelivery[]): Promise<void> {
  // Time stands still: on a busy machine, a write may take longer than its sender waits, and is then not made.
  const clock = new ManualClock();
  const receiver = testReceiver({ secrets: secret, database, clock });
  receiver.on('*', { name: 'journal' }, ({ traceId }) => {
    if (traceId === 't-dead') throw new Discard('the journal is full');
  });
  await receiver.start();
  for (const traceId of ['t-well', 't-dead', 't-dead'])
    await deliver(receiver, buildDelivery('call-ended', { secret, traceId }));
  await deliver(receiver, buildDelivery('call-ended', { secret: otherSecret }));
  for (const delivery of besides) await deliver(receiver, delivery);
  const isDone = async () => (await receiver.counts()).events.new === 0;
  while (!(await isDone())) await setImmediate();
  await receiver.stop();
}

/** Runs the command, expects success, and parses the lines that it has printed; without any, it must say so. */
export async function linesOf(cwd: string, ...args: readonly string[]): Promise<unknown[]> {
  const { code, stdout, stderr } = await ringback(['inbox', ...args], { env, cwd });
  const lines = stdout.split('\n').filter((line) => line !== '');
  const said = lines.length > 0 ? '' : expect.stringMatching(/^ringback: no [a-z ]+ matches\n$/v);
  expect([code, stderr]).toEqual([0, said]);
  return lines.map((line) => JSON.parse(line) as unknown);
}
