import type { Command } from 'commander';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { pause, systemClock } from '../kit/clock.ts';
import { parseDuration } from '../kit/duration.ts';
import { createPlatform } from '../platform/platform.ts';
import { readSecretFile } from '../platform/secrets/secret-file.ts';
import { type Receiver, createReceiver } from '../receiver/receiver.ts';
import { type Sandbox, createSandbox } from '../sandbox/sandbox.ts';
import { loadApp } from './app/app-file.ts';
import { argument } from './arguments.ts';
import { sandboxOptions, sceneOf } from './demo/script.ts';
import { DemoView } from './demo/view.ts';
import { readEnvironment } from './environment.ts';
import { asUsage } from './failure.ts';
import { HttpServer } from './serve/http-server.ts';
import { hasSecrets } from './secrets.ts';
import { close, serve } from './serve.ts';
import { beforeEnd, stopSignal } from './signals.ts';

const betweenCalls = 2;

const path = '/webhooks';

const exampleApp = fileURLToPath(new URL('../../examples/standalone/app.ts', import.meta.url));
/** The same app with a join. */
const demoApp = fileURLToPath(new URL('../../examples/sandbox/app.ts', import.meta.url));

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('show Ringback at work, with calls that the sandbox plays')
    .option(
      '--pace <duration>',
      'how long a step of a call takes (default: 1s)',
      argument("a duration such as '500ms', '2s'", parseDuration),
    )
    .addHelpText(
      'after',
      [
        '',
        'If RINGBACK_SECRETS or RINGBACK_SECRETS_FILE is set, a platform sends the deliveries: instead of the',
        'demonstration, this runs `ringback serve` with the example app.',
      ].join('\n'),
    )
    .action(async ({ pace = 1_000 }: { pace?: number }) => {
      const environment = asUsage(readEnvironment);
      if (hasSecrets(environment)) return serve({ app: environment.RINGBACK_APP ?? exampleApp }, environment);
      await demonstrate(pace);
    });
}

/** Receives on loopback what the sandbox delivers, call by call, until a signal comes. */
async function demonstrate(pace: number): Promise<void> {
  const stop = new AbortController();
  void stopSignal().then(() => stop.abort());
  // The reader of the output, such as `head`, has left.
  process.stdout.on('error', () => stop.abort());
  const folder = temporaryFolder();
  const secretFile = join(folder, 'secrets');
  const view = new DemoView(print);
  const sandbox = createSandbox(sandboxOptions(pace));
  const receiver = createReceiver({
    secrets: () => readSecretFile(secretFile),
    database: join(folder, 'ringback.db'),
    https: { required: false },
    logger: pino({ level: 'info' }, view),
  });
  const { register } = await loadApp(demoApp);
  await register(receiver);
  const server = new HttpServer(receiver, { path });
  // In this order: the subscription needs the address, and the receiver needs the subscription's secret.
  await server.listen({ host: '127.0.0.1', port: 0, path });
  await sandbox.start();
  const url = `${server.url}${path}`;
  await subscribe(sandbox, url, secretFile);
  await receiver.start();

  print(introduction({ url, platform: sandbox.url, folder }));
  sandbox.attempts.watch((attempt) => view.attempted(attempt));
  await play(sandbox, view, { pace, signal: stop.signal });
  await sandbox.stop();
  view.end();
  await reportEnd(receiver);
  await close(receiver, server);
}

/** Subscribes a receiver at the sandbox, as at the platform, and stores the secret in the file. */
async function subscribe(sandbox: Sandbox, url: string, secretFile: string): Promise<void> {
  const { subscriptions } = createPlatform({ baseUrl: sandbox.url, apiKey: sandbox.apiKey });
  await subscriptions.ensure({ name: 'demonstration', url }, { secretFile });
}

async function play(
  { calls }: Sandbox,
  view: DemoView,
  { pace, signal }: { readonly pace: number; readonly signal: AbortSignal },
): Promise<void> {
  const stopped = once(signal, 'abort');
  for (let number = 1; !signal.aborted; number += 1) {
    const scene = sceneOf(number);
    view.begin(scene);
    await Promise.race([calls.play(scene.plan), stopped]);
    await pause(systemClock, pace * betweenCalls, signal);
  }
}

function introduction(places: { readonly url: string; readonly platform: string; readonly folder: string }) {
  return [
    "Ringback receives a call's events, stores each one once, answers, and runs the handlers.",
    '',
    'This is a demonstration, because RINGBACK_SECRETS is not set: a sandbox stands in for the platform. It plays',
    'calls, delivers their events over plain HTTP within this machine, and causes more trouble than a platform does.',
    '',
    `  platform   ${places.platform} (the sandbox)`,
    `  receiver   ${places.url} (subscribed to the events of all calls)`,
    `  secret     ${join(places.folder, 'secrets')} (issued by the sandbox, and read by the receiver)`,
    `  inbox      ${join(places.folder, 'ringback.db')} (removed at the end)`,
    `  handlers   ${demoApp}`,
    '',
    '→ what is delivered   ← what is answered   Ctrl-C ends it',
  ].join('\n');
}

async function reportEnd(receiver: Receiver): Promise<void> {
  const { events, quarantine } = await receiver.counts();
  const stored = events.new + events.open + events.done;
  print('');
  print(
    `In the inbox: ${stored} events, ${events.done} done. In the quarantine: ${quarantine.notAuthentic} unauthenticated.`,
  );
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-demo-'));
  beforeEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
