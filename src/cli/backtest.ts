import type { Command } from 'commander';
import { resolve } from 'node:path';
import { handlersOption } from './app/app-file.ts';
import { inProcess } from './backtest/in-process.ts';
import { printReport } from './backtest/print-report.ts';
import { databaseOf, readDatabase, readEnvironment } from './environment.ts';
import { asUsage, exitCodes } from './failure.ts';
import { requireSqlite } from './inbox/existing-inbox.ts';
import { takesTimes } from './inbox/filter.ts';
import { remark } from './stderr.ts';

interface BacktestFlags {
  readonly app?: string;
  readonly from?: string;
  readonly handler?: string;
  readonly eventName?: string;
  readonly since?: number;
  readonly until?: number;
  readonly allowNetwork?: true;
}

export function addBacktest(program: Command, exitWith: (code: number) => void): void {
  const command = program
    .command('backtest')
    .description(
      'run the handlers of an app file over the events of a copy of the inbox, and undo what they write',
    )
    .option(...handlersOption)
    .option(
      '--from <file>',
      'the inbox, a SQLite file, which is not changed (RINGBACK_DATABASE; default: ./ringback.db)',
    )
    .option('--handler <name>', 'run only this handler')
    .option('--event-name <name>', 'only events of this name');
  takesTimes(command)
    .option('--allow-network', 'let the handlers use the network: what they do there is not undone')
    .addHelpText(
      'after',
      [
        '',
        'It prints a line for each handler: how its runs would end, which rows they would write, and what happened then.',
        'Exits with 1 if a run that was done then would fail now.',
        'The last week: ringback backtest --app new.ts --from ringback.db --since 7d',
      ].join('\n'),
    )
    .action(async (flags: BacktestFlags) => exitWith(await backtest(flags, command)));
}

async function backtest(flags: BacktestFlags, command: Command): Promise<number> {
  const environment = asUsage(readEnvironment);
  const app = flags.app ?? environment.RINGBACK_APP;
  if (app === undefined) return command.error("error: missing the option '--app <file>'");
  const from = asUsage(() =>
    flags.from === undefined ? databaseOf({}, environment) : readDatabase(flags.from, '--from'),
  );
  requireSqlite(from, '--from', 'An inbox in Postgres cannot be backtested yet.');
  const { handler, eventName, since, until, allowNetwork } = flags;
  const request = { from: resolve(from), app, handler, filter: { eventName, since, until } };
  const end = await inProcess(request, { isNetworkAllowed: allowNetwork === true });
  if (end === undefined) {
    remark('stopped: the copy was removed, and nothing else was changed');
    return exitCodes.failure;
  }
  if ('exitCode' in end) return end.exitCode;
  await printReport(end.report);
  return end.report.handlers.some(({ worse }) => worse > 0) ? exitCodes.failure : exitCodes.success;
}
