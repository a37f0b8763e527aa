import type { Command } from 'commander';
import { pino } from 'pino';
import type { EventFilter } from '../../inbox/events.ts';
import { createReceiver } from '../../receiver.ts';
import { loadApp } from '../app-file.ts';
import { receiverOptions } from '../app-options.ts';
import { argument } from '../argument.ts';
import { databaseOption, readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { inboxFile } from '../inbox-file.ts';
import { filterOf, takesFilter } from './filter.ts';
import { printLine } from './print.ts';

interface ReplayFlags extends EventFilter {
  readonly database?: string;
  readonly app?: string;
  readonly rate?: number;
  readonly by?: string;
  readonly reason?: string;
  readonly yes?: true;
}

/** How long something is kept is for the service to say: what runs for a moment removes nothing. */
const keepAll = { done: '3650d', dead: '3650d', quarantine: '3650d', traceIds: '3650d' } as const;

/** Adds `ringback inbox replay`. */
export function addReplay(inbox: Command): void {
  takesFilter(inbox.command('replay'))
    .option(...databaseOption)
    .description('say which runs would be run again, and with --yes have them run')
    .option('--app <file>', 'module whose default export registers the handlers (RINGBACK_APP)')
    .option('--rate <number>', 'so many runs a second', argument('a number above 0', readRate))
    .option('--by <who>', 'who asks for it: kept with the replay')
    .option('--reason <text>', 'why: kept with the replay')
    .option('--yes', 'have them run')
    .addHelpText(
      'after',
      [
        '',
        'It needs the app file and the secrets of `ringback serve`, and takes part in its work while it puts the runs back.',
        'Dead letters of a handler: ringback inbox replay --state dead --handler journal --app app.js',
      ].join('\n'),
    )
    .action(replay);
}

async function replay(flags: ReplayFlags, command: Command): Promise<void> {
  const environment = asUsage(readEnvironment);
  const app = flags.app ?? environment.RINGBACK_APP;
  if (app === undefined) return command.error("error: missing the option '--app <file>'");
  const database = inboxFile(flags, environment);
  const filter = filterOf(flags);
  if (Object.values(filter).every((value) => value === undefined))
    return command.error("error: missing a condition, such as '--state dead'");
  const { options, register } = await loadApp(app);
  const receiver = createReceiver({
    ...asUsage(() => receiverOptions({ database }, environment, options)),
    retention: keepAll,
    // Beside the result, which is for programs.
    logger: pino(
      { level: environment.RINGBACK_LOG_LEVEL ?? 'error' },
      pino.destination({ dest: 2, sync: true }),
    ),
  });
  await register(receiver);
  await receiver.start();
  try {
    const { yes, rate, by, reason } = flags;
    await printLine(await receiver.events.replay(filter, { dryRun: yes !== true, rate, by, reason }));
  } finally {
    await receiver.stop();
  }
}

function readRate(value: unknown): number | undefined {
  const rate = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return rate > 0 && Number.isFinite(rate) ? rate : undefined;
}
