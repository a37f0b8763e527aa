import type { Command } from 'commander';
import type { EventFilter } from '../../operate/events.ts';
import { databaseOption } from '../environment.ts';
import { existingInbox, withInbox } from './existing-inbox.ts';
import { remark } from '../stderr.ts';
import { filterOf, takesFilter } from './filter.ts';
import { lookInto } from './looking.ts';
import { printResult } from './print.ts';

interface DismissFlags extends EventFilter {
  readonly database?: string;
  readonly by?: string;
  readonly reason: string;
  readonly yes?: true;
}

/** Adds `ringback inbox dismiss`. */
export function addDismiss(inbox: Command): void {
  takesFilter(inbox.command('dismiss'))
    .option(...databaseOption)
    .description('say which runs would be dismissed, and with --yes dismiss them: they will not be run')
    .option('--by <who>', 'who dismisses them: kept with each run')
    .requiredOption('--reason <text>', 'why: kept with each run')
    .option('--yes', 'dismiss them')
    .addHelpText(
      'after',
      [
        '',
        "Dead letters of a handler: ringback inbox dismiss --state dead --handler journal --reason 'done by hand'",
        "Runs of a handler that is gone: ringback inbox dismiss --handler old-journal --reason 'renamed to journal'",
        'The second also dismisses runs that wait. The command does not know your app: a handler of that name that still',
        'exists loses those of its runs that wait, and keeps those that it is running.',
      ].join('\n'),
    )
    .action(dismiss);
}

async function dismiss(flags: DismissFlags, command: Command): Promise<void> {
  const filter = filterOf(flags);
  if (filter.state !== 'dead' && filter.handler === undefined)
    return command.error(
      "error: missing a condition: '--state dead', or '--handler <name>' for one that is gone",
    );
  const { by, reason, yes } = flags;
  const dryRun = yes !== true;
  const dismissed = await withInbox(await existingInbox(flags), (store) =>
    lookInto(store).events.dismiss(filter, { by, reason, dryRun }),
  );
  await printResult(dismissed);
  if (dismissed.runs === 0) remark('no run matches');
  else if (dryRun) remark('Nothing was dismissed. To dismiss these runs, add --yes.');
}
