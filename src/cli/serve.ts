import type { Command } from 'commander';
import type { Logger } from 'pino';
import { configError } from '../errors/errors.ts';
import { type Receiver, createReceiver, internalsOf } from '../receiver/receiver.ts';
import { Telemetry } from '../receiver/telemetry.ts';
import { type App, handlersOption, loadApp } from './app/app-file.ts';
import { receiverOptions } from './app/app-options.ts';
import { argument } from './arguments.ts';
import {
  type DatabaseFlag,
  type Environment,
  databaseOption,
  expected,
  readEnvironment,
  readPath,
  readPort,
  readTrustProxy,
} from './environment.ts';
import { asUsage } from './failure.ts';
import { guardedPage, pagePath, pageToken } from './serve/guarded-page.ts';
import { type Address, HttpServer, type Offer, isOwnPath, ownPaths } from './serve/http-server.ts';
import { atEveryLevel, openLog } from './log.ts';
import { metricsOf } from './serve/metrics.ts';
import { stopSignal } from './signals.ts';
import { remark } from './stderr.ts';

interface ServeFlags extends DatabaseFlag {
  readonly app?: string;
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly trustProxy?: string;
  readonly insecureHttp?: true;
  readonly page?: true;
  readonly metrics?: true;
}

const hintAtApp =
  'no app file is set, so events are stored and wait for a process that has handlers. ' +
  'Set --app or RINGBACK_APP to the module that registers yours.';

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('receive deliveries in a process of its own')
    .option(...handlersOption)
    .option(...databaseOption)
    .option('--host <host>', 'address to listen on (RINGBACK_HOST; default: 127.0.0.1)')
    .option(
      '--port <number>',
      'port to listen on, 0 lets the system choose (RINGBACK_PORT; default: 8080)',
      argument(expected.port, readPort),
    )
    .option(
      '--path <path>',
      'path that deliveries come to (RINGBACK_PATH; default: /webhooks)',
      argument(expected.path, readPath),
    )
    .option(
      '--trust-proxy <list>',
      "trusted proxies: hops, 'loopback', addresses, CIDR ranges (RINGBACK_TRUST_PROXY)",
      argument(expected.trustProxy, readTrustProxy),
    )
    .option('--insecure-http', 'accept plain HTTP, for development on loopback (RINGBACK_INSECURE_HTTP)')
    .option('--page', `serve the operators' page at ${pagePath} (RINGBACK_PAGE)`)
    .option('--metrics', 'serve metrics for Prometheus at /metrics (RINGBACK_METRICS)')
    .addHelpText(
      'after',
      [
        '',
        'Environment:',
        '  RINGBACK_SECRETS       the signing secrets, separated by commas',
        '  RINGBACK_SECRETS_FILE  a file that holds them, one per line; changes take effect without a restart',
        '  RINGBACK_LOG_LEVEL     trace, debug, info, warn, error, fatal or silent (default: info)',
        '  RINGBACK_PAGE_TOKEN    the password of the page; any user name works, and is stored with each change',
        'One of the first two is needed, unless the app file sets secrets or headers. An option takes precedence over',
        'its variable.',
      ].join('\n'),
    )
    // Refused by refuseArguments instead, which can suggest --app for an app file.
    .allowExcessArguments()
    .action(async (flags: ServeFlags, command: Command) => {
      refuseArguments(command);
      await serve(flags, asUsage(readEnvironment));
    });
}

function refuseArguments(command: Command): void {
  const { args } = command;
  if (args.length === 0) return;
  const [file = ''] = args;
  const isApp =
    args.length === 1 && /\.[cm]?[jt]s$/.test(file) && command.opts<ServeFlags>().app === undefined;
  const hint = isApp ? ` Did you mean --app ${file}?` : '';
  const count = `${args.length}: ${args.join(', ')}`;
  command.error(`error: too many arguments for 'serve'. Expected 0 arguments but got ${count}.${hint}`);
}

export async function serve(flags: ServeFlags, environment: Environment): Promise<void> {
  const stopping = stopSignal();
  const address = asUsage(() => addressOf(flags, environment));
  const token = asUsage(() => tokenOf(flags, environment));
  const logger = openLog(environment.RINGBACK_LOG_LEVEL ?? 'info');
  const app = flags.app ?? environment.RINGBACK_APP;
  // An app file that never finishes loading must not prevent a stop.
  const isStopped = stopping.then(() => undefined);
  const receiver = await Promise.race([isStopped, receiverFor(flags, environment, logger)]);
  if (receiver === undefined) return process.exit(0);
  const isMeasured = (flags.metrics ?? environment.RINGBACK_METRICS) === true;
  const metrics = isMeasured ? await metricsOf(receiver) : undefined;
  const server = await open(receiver, address, {
    onMisdirected: reportOnce(logger, address),
    page: token === undefined ? undefined : guardedPage(receiver, token),
    metrics,
  });
  const always = atEveryLevel(logger);
  new Telemetry(always).report('listening', {
    url: server.url,
    path: address.path,
    ...(token !== undefined && { page: pagePath }),
  });
  always.flush();
  if (app === undefined) remark(hintAtApp);
  await stopping;
  await close(receiver, server);
}

/** Logs once that deliveries come to another path, where each is lost without any other sign. */
function reportOnce(logger: Logger, { path }: Address): () => void {
  let isReported = false;
  return () => {
    if (!isReported) new Telemetry(logger).report('delivery_misdirected', { path });
    isReported = true;
  };
}

/**
 * Listens, then starts the receiver: a second process with the same port by mistake fails before it claims anything
 * from the inbox. Deliveries that come in between wait.
 */
async function open(
  receiver: Receiver,
  address: Address,
  offer: Pick<Offer, 'page' | 'metrics' | 'onMisdirected'>,
): Promise<HttpServer> {
  const { path } = address;
  const server = new HttpServer(receiver, {
    ...offer,
    path,
    isReady: () => internalsOf(receiver).lifecycle.checkReady(),
  });
  try {
    await server.listen(address);
    const started = receiver.start();
    server.holdUntil(started);
    await started;
    return server;
  } catch (error) {
    await close(receiver, server);
    throw error;
  }
}

/** Stops new connections first, then the receiver, so that no delivery reaches a stopped receiver. */
export async function close(receiver: Receiver, server: HttpServer): Promise<void> {
  server.drain();
  await receiver.stop();
  await server.close();
}

function addressOf(flags: ServeFlags, environment: Environment): Address {
  return {
    host: flags.host ?? environment.RINGBACK_HOST ?? '127.0.0.1',
    port: flags.port ?? environment.RINGBACK_PORT ?? 8080,
    path: pathOf(flags, environment),
  };
}

function tokenOf({ page }: ServeFlags, environment: Environment): string | undefined {
  return (page ?? environment.RINGBACK_PAGE) === true ? pageToken(environment) : undefined;
}

/** Refuses the server's own paths, where the receiver would get no deliveries. */
function pathOf(flags: ServeFlags, environment: Environment): string {
  const path = flags.path ?? environment.RINGBACK_PATH ?? '/webhooks';
  if (!isOwnPath(path)) return path;
  throw configError('option_invalid', {
    option: flags.path === undefined ? 'RINGBACK_PATH' : '--path',
    expected: `a path used only for deliveries, not ${ownPaths.join(', ')}`,
    found: JSON.stringify(path),
    fix: 'Choose another path, such as /webhooks.',
  });
}

async function receiverFor(flags: ServeFlags, environment: Environment, logger: Logger): Promise<Receiver> {
  const file = flags.app ?? environment.RINGBACK_APP;
  // Without an app file, the command line is checked before anything is loaded.
  const make = (app?: App): Receiver =>
    asUsage(() => createReceiver({ ...receiverOptions(flags, environment, app?.options), logger }));
  if (file === undefined) return make();
  const app = await loadApp(file);
  const receiver = make(app);
  await app.register(receiver);
  return receiver;
}
