import type { Command } from 'commander';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { parseDuration } from '../kit/duration.ts';
import { type Receiver, createReceiver } from '../receiver.ts';
import { deliverTo } from '../testing/deliver.ts';
import { applyApp } from './app-file.ts';
import { argument } from './argument.ts';
import { stepsOf } from './demo-script.ts';
import { DemoView } from './demo-view.ts';
import { readEnvironment } from './environment.ts';
import { asUsage } from './failure.ts';
import { hasSecrets } from './secrets.ts';
import { close, open, serve } from './serve.ts';
import { stopSignal } from './stop-signal.ts';

/** How many times as long the demonstration waits before the next call. */
const betweenCalls = 8;

const exampleApp = fileURLToPath(new URL('../../examples/standalone/app.ts', import.meta.url));

/** Adds `ringback demo`. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('show Ringback at work, with deliveries made up for the purpose')
    .option(
      '--pace <duration>',
      'how long to wait between deliveries (default: 1s)',
      argument("a duration such as '500ms', '2s'", parseDuration),
    )
    .addHelpText(
      'after',
      [
        '',
        'With RINGBACK_SECRETS or RINGBACK_SECRETS_FILE set there is a platform to receive from: then this',
        'is `ringback serve` with the example app.',
      ].join('\n'),
    )
    .action(async ({ pace = 1_000 }: { pace?: number }) => {
      const environment = asUsage(readEnvironment);
      if (hasSecrets(environment)) return serve({ app: environment.RINGBACK_APP ?? exampleApp }, environment);
      await demonstrate(pace);
    });
}

/** Receives on loopback, and plays one call after the other until a signal comes. */
async function demonstrate(pace: number): Promise<void> {
  const stop = new AbortController();
  void stopSignal().then(() => stop.abort());
  // Whoever read along is gone, such as `head`: there is nobody left to show anything to.
  process.stdout.on('error', () => stop.abort());
  const database = join(temporaryFolder(), 'ringback.db');
  const secret = newSecret();
  const view = new DemoView(print);
  const receiver = createReceiver({
    secrets: secret,
    database,
    https: { required: false },
    logger: pino({ level: 'info' }, view),
  });
  await applyApp(receiver, exampleApp);
  const server = await open(receiver, { host: '127.0.0.1', port: 0, path: '/webhooks' });

  const url = `${server.url}/webhooks`;
  print(introduction(url, database));
  await play({ url, secret, view, pace, signal: stop.signal });
  await tellEnd(receiver);
  await close(receiver, server);
}

interface Playing {
  readonly url: string;
  readonly secret: string;
  readonly view: DemoView;
  readonly pace: number;
  readonly signal: AbortSignal;
}

async function play({ url, secret, view, pace, signal }: Playing): Promise<void> {
  const strangersSecret = newSecret();
  for (let call = 1; !signal.aborted; call += 1) {
    for (const step of stepsOf(call, secret, strangersSecret)) {
      if (signal.aborted) return;
      view.sent(step);
      view.answered(await deliverTo(url, step.delivery));
      await pause(pace, signal);
    }
    await pause(pace * betweenCalls, signal);
  }
}

function introduction(url: string, database: string): string {
  return [
    "Ringback receives a call's events, stores each one once, answers, and runs the handlers.",
    '',
    'This is a demonstration, because RINGBACK_SECRETS is not set: the deliveries are made up, signed with a',
    'secret made for this run, and sent over plain HTTP within this machine.',
    '',
    `  receiver   ${url}`,
    `  inbox      ${database} (removed at the end)`,
    '  handlers   examples/standalone/app.ts',
    '',
    '→ what is delivered   ← what is answered   Ctrl-C ends it',
  ].join('\n');
}

async function tellEnd(receiver: Receiver): Promise<void> {
  const { events, quarantine } = await receiver.counts();
  const stored = events.new + events.open + events.done;
  print('');
  print(
    `In the inbox: ${stored} events, ${events.done} done. In the quarantine: ${quarantine.notAuthentic} not authentic.`,
  );
}

/** Removed however the process ends, so that no run leaves anything behind. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function newSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => {});
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
