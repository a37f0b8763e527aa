import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { ringbackError } from '../errors/errors.ts';
import { jsonIn } from '../kit/http-bodies.ts';
import type { Attempt } from '../sandbox/model.ts';
import type { SandboxOptions } from '../sandbox/options.ts';
import { type Sandbox, createSandbox } from '../sandbox/sandbox.ts';
import type { Seed } from '../sandbox/seed.ts';
import type { SchemeName } from '../signature/schemes.ts';
import { argument, readInput, schemeName } from './arguments.ts';
import { expected, readEnvironment, readPort } from './environment.ts';
import { asUsage } from './failure.ts';
import { atEveryLevel, openLog } from './log.ts';
import { remark } from './stderr.ts';
import { stopSignal } from './signals.ts';

interface SandboxFlags {
  readonly port?: number;
  readonly database?: string;
  readonly seed?: string;
  readonly callsPerMinute?: number;
  readonly speed?: number;
  readonly adversary?: string | true;
  readonly scheme?: SchemeName;
}

/** Not the receiver's 8080, so that both run on one machine without an option. */
const usualPort = 8090;

const highestRate = 1_000_000;

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('stand in for the platform: serve its API on loopback, play calls, and deliver their events')
    .option(
      '--port <number>',
      `port to listen on, 0 lets the system choose (default: ${usualPort})`,
      argument(expected.port, readPort),
    )
    .option('--database <file>', 'where its state is kept (default: in memory, gone at the end)')
    .option('--seed <file>', 'JSON file with the content of a new database (default: one organization)')
    .option(
      '--calls-per-minute <number>',
      'how many calls to play a minute; --speed shortens the minutes (default: none)',
      argument('a number above 0, at most 1,000,000', readRate),
    )
    .option(
      '--speed <number>',
      'how many times faster time passes, in calls and between attempts (default: 1)',
      argument('a number above 0, at most 1,000,000', readRate),
    )
    .option(
      '--adversary [seed]',
      'duplicate, delay, drop and forge deliveries; the same seed plays the same calls with the same disturbances',
    )
    .option('--scheme <name>', 'how to sign (default: t-v1-hex-whole)', schemeName)
    .addHelpText(
      'after',
      [
        '',
        'The line with "event":"listening" has its url and, for a new database, the apiKey of its organization,',
        'which is shown only then.',
        'RINGBACK_LOG_LEVEL is the level of the other lines (default: info).',
      ].join('\n'),
    )
    .action(async (flags: SandboxFlags) => standIn(flags));
}

async function standIn(flags: SandboxFlags): Promise<void> {
  const stopping = stopSignal();
  const logger = openLog(asUsage(readEnvironment).RINGBACK_LOG_LEVEL ?? 'info');
  const adversary = flags.adversary === true ? randomUUID() : flags.adversary;
  const sandbox = createSandbox({ ...optionsOf(flags, adversary), logger });
  await sandbox.start();
  if (flags.seed !== undefined && !sandbox.isNew)
    remark(`the seed was not used: the database ${flags.database} is not new, and was not changed`);
  if (sandbox.apiKey === undefined && flags.seed === undefined)
    remark(
      `the database ${flags.database} is not new, and keeps only digests of keys: use the apiKey that was shown when it ` +
        'was new, or a key of its seed; or delete the file, and the next start shows another apiKey.',
    );
  try {
    logListening(logger, sandbox, adversary);
    logAttempts(logger, sandbox);
    // Traffic never ends by itself; it is awaited because it can fail.
    await Promise.race([stopping, ...playCalls(sandbox, flags)]);
  } finally {
    await sandbox.stop();
  }
}

/** @param adversary the seed of both the calls and the trouble, which depends on the calls' ids */
function optionsOf(flags: SandboxFlags, adversary: string | undefined): SandboxOptions {
  const { port = usualPort, database, seed, speed, scheme } = flags;
  return {
    port,
    database,
    seed: seed === undefined ? undefined : readSeedFile(seed),
    speed,
    scheme,
    callSeed: adversary,
    adversary: adversary !== undefined && { seed: adversary },
  };
}

function playCalls({ calls }: Sandbox, { callsPerMinute }: SandboxFlags): readonly Promise<unknown>[] {
  return callsPerMinute === undefined ? [] : [calls.traffic({ callsPerMinute })];
}

function readRate(value: unknown): number | undefined {
  const rate = typeof value === 'string' && /^\d*\.?\d+$/.test(value) ? Number(value) : 0;
  return rate > 0 && rate <= highestRate ? rate : undefined;
}

/** Reads a seed file, which the sandbox checks. @throws RingbackError `seed_unreadable` */
function readSeedFile(file: string): Seed {
  const text = readInput(file, 'seed_unreadable')
    .toString()
    .replace(/^\uFEFF/, '');
  const seed = jsonIn(text);
  // Without the parser's message, which quotes the text and could show a key.
  if (seed === undefined) throw ringbackError('seed_unreadable', { file, cause: 'it is not JSON' });
  return seed as Seed;
}

/** Logs the line that people and scripts wait for. The key is known only while a database is new. */
function logListening(
  logger: Logger,
  { url, apiKey }: Pick<Sandbox, 'url' | 'apiKey'>,
  adversary: string | undefined,
): void {
  const always = atEveryLevel(logger);
  always.info({ event: 'listening', url, apiKey, adversary }, 'listening');
  always.flush();
}

function logAttempts(logger: Logger, { attempts }: Pick<Sandbox, 'attempts'>): void {
  attempts.watch((attempt) => {
    const { eventName, callId, traceId, subscriptionId, number, status, failure, disturbance } = attempt;
    logger[levelOf(attempt)](
      {
        event: 'delivery_attempted',
        eventName,
        callId,
        traceId,
        subscriptionId,
        attempt: number,
        status,
        failure,
        disturbance,
        latencyMs: Math.round(attempt.latencyMs),
      },
      'delivery attempted',
    );
  });
}

/** Deliveries of the adversary are supposed to fail, so they are no warning. */
function levelOf({ isDelivered, disturbance }: Attempt): 'info' | 'warn' {
  return isDelivered || disturbance !== undefined ? 'info' : 'warn';
}
