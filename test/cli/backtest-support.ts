import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliver } from '../../src/testing/deliver.ts';
import { manualClock } from '../../src/testing/manual-clock.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import type { HandlerReport } from '../../src/cli/backtest/tally.ts';
import { Discard } from '../support/public.ts';
import { type ProcessSetting, folder, ringback, secret } from './command.ts';
import { whenHandled } from '../support/when-handled.ts';

/** An event of an inbox, and how long ago it came. */
interface Arrival {
  readonly fixture: 'call-started' | 'call-ended' | 'pca-completed';
  readonly traceId: string;
  readonly callId?: string;
  readonly ago?: `${number}d`;
}

/** What usually came: an event that is done, one that was given up, and one of another kind. */
const usual: readonly Arrival[] = [
  { fixture: 'call-started', traceId: 't-started', callId: 'call_1' },
  { fixture: 'call-ended', traceId: 't-well', callId: 'call_1' },
  { fixture: 'call-ended', traceId: 't-dead', callId: 'call_2' },
];

/** A folder with an app file, and with an inbox that a receiver with a handler named journal has worked on. */
export async function workedOn(app: string, arrivals: readonly Arrival[] = usual): Promise<string> {
  const cwd = folder({ 'app.ts': app });
  mkdirSync(join(cwd, 'tmp'));
  const day = 86_400_000;
  const now = Date.now();
  // As many receivers as there are days: each has a clock of its own.
  for (const [ago, all] of Map.groupBy(arrivals, (arrival) => Number.parseInt(arrival.ago ?? '0'))) {
    const clock = manualClock(now - ago * day - 1_000);
    const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db'), clock });
    receiver.database.exec('create table if not exists minutes (call_id text primary key, calls integer)');
    receiver.on('*', { name: 'journal' }, ({ traceId }) => {
      if (traceId === 't-dead') throw new Discard('the journal is full');
    });
    await receiver.start();
    for (const { fixture, traceId, callId = 'call_1' } of all) {
      const options = { secret, traceId, callId, timestamp: clock.now() };
      expect(await deliver(receiver, buildDelivery(fixture, options))).toMatchObject({ status: 200 });
      await whenHandled(receiver, traceId, { clock });
    }
    await receiver.stop();
  }
  return cwd;
}

/** An app file that does this with the receiver `r`. */
export function appOf(register: string): string {
  return `import { Discard, RetryLater } from 'ringback';
    export default (r: any) => { ${register} };`;
}

/** The environment of a backtest: nothing but the folder `tmp` for what it makes. */
export function settingIn(cwd: string): ProcessSetting & { readonly env: Record<string, string> } {
  return { cwd, env: { TMPDIR: join(cwd, 'tmp') } };
}

/** What is left where the copy is made. */
export function leftIn(cwd: string): readonly string[] {
  return readdirSync(join(cwd, 'tmp'));
}

/** The bytes of the inbox. */
export function bytesIn(cwd: string): Buffer {
  return readFileSync(join(cwd, 'ringback.db'));
}

/** Replaces the app file. */
export function rewrite(cwd: string, app: string): void {
  writeFileSync(join(cwd, 'app.ts'), app);
}

/** Runs a backtest of the folder's app file and inbox to its end: nothing may be changed or left. */
export async function backtest(cwd: string, ...args: readonly string[]) {
  const before = bytesIn(cwd);
  const command = ['backtest', '--app', 'app.ts', '--from', 'ringback.db', ...args];
  const { code, stdout, stderr } = await ringback(command, settingIn(cwd));
  expect([bytesIn(cwd).equals(before), leftIn(cwd)]).toEqual([true, []]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { code, stderr, reports: lines.map((line) => JSON.parse(line) as HandlerReport) };
}
