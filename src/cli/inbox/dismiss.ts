import type { Command } from 'commander';
import type { EventFilter } from '../../operate/events.ts';
import { accountOf, takesBy } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { withReceiver } from './existing-inbox.ts';
import { remark } from '../stderr.ts';
import { filterOf, takesFilter } from './filter.ts';
import { printResult } from './print.ts';
import { resultUnlessStopped } from './stoppable.ts';
import { exitCodes } from '../failure.ts';
import { stopSignal } from '../signals.ts';

interface DismissFlags extends EventFilter, DatabaseFlag {
  readonly by?: string;
  readonly reason: string;
  readonly yes?: true;
}

export function addDismiss(inbox: Command, exitWith: (code: number) => void): void {
  takesBy(takesFilter(inbox.command('dismiss')), 'who dismisses them; stored with each run')
    .option(...databaseOption)
    .description('show which runs would be dismissed, and with --yes dismiss them: they will not be run')
    .requiredOption('--reason <text>', 'why; stored with each run')
    .option('--yes', 'dismiss them')
    .addHelpText(
      'after',
      [
        '',
        "Dead letters of a handler:    ringback inbox dismiss --state dead --handler journal --reason 'done by hand'",
        "Those with the same failure:  ringback inbox dismiss --failure c82a60b3a4cb7cf1 --reason 'done by hand'",
        "Runs of a removed handler:    ringback inbox dismiss --handler old-journal --reason 'renamed to journal'",
        'The last one also dismisses waiting runs. It is refused while a process that has a handler of that name runs,',
        'unless --trace-id names the event whose run is skipped. Runs that are active continue.',
      ].join('\n'),
    )
    .action(async (flags: DismissFlags, command: Command) => {
      const isWell = await dismiss(flags, command);
      if (!isWell) exitWith(exitCodes.failure);
    });
}

/** Resolves to false if it was stopped early. */
async function dismiss(flags: DismissFlags, command: Command): Promise<boolean> {
  const filter = filterOf(flags);
  if (filter.state !== 'dead' && filter.handler === undefined && filter.failure === undefined)
    return command.error(
      "error: missing a condition: '--state dead', or '--handler <name>' for one that was removed, or '--failure <id>'",
    );
  const { reason, yes } = flags;
  const { by } = accountOf(flags);
  const dryRun = yes !== true;
  const signal = stopSignal();
  const dismissed = await withReceiver(flags, async ({ events }) => {
    const begun = await events.beginDismissal(filter, { by, reason, dryRun });
    return resultUnlessStopped(events, begun, signal, by);
  });
  if (!dismissed) {
    remark('stopped before all were dismissed: those that were stay dismissed');
    return false;
  }
  await printResult(dismissed);
  if (dismissed.runs === 0) remark('no run matches');
  else if (dryRun) remark('Nothing was dismissed. To dismiss these runs, add --yes.');
  return true;
}
