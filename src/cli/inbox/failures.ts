import type { Command } from 'commander';
import type { Account } from '../../operate/audit.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { remark } from '../stderr.ts';
import { accountOf, takesAccount } from '../arguments.ts';
import { withReceiver } from './existing-inbox.ts';
import type { FailureGroup } from '../../operate/failures.ts';
import { printAll, printResult } from './print.ts';
import type { Column } from './table.ts';

interface FailuresFlags extends DatabaseFlag {
  readonly handler?: string;
}

const columns: readonly Column<FailureGroup>[] = [
  ['id', ({ id }) => id],
  ['handler', ({ handler }) => handler],
  ['dead', ({ dead }) => dead],
  ['retrying', ({ retrying }) => retrying],
  ['last day', ({ lastDay }) => lastDay.reduce((sum, count) => sum + count, 0)],
  ['muted', ({ mutedAt }) => mutedAt && 'muted'],
  ['last seen', ({ lastSeenAt }) => lastSeenAt, 'below'],
  ['cause', ({ cause }) => cause],
  ['message', ({ message }) => message],
];

export function addFailures(inbox: Command): void {
  inbox
    .command('failures')
    .option(...databaseOption)
    .option('--handler <name>', 'only of this handler')
    .description(
      'print the failures of runs that are not done, in groups of similar failures (in a pipe, as lines of JSON)',
    )
    .addHelpText('after', '\nThe events of a group: ringback inbox events --failure <id>')
    .action(async ({ handler, ...flags }: FailuresFlags) => {
      await withReceiver(flags, async ({ failures }) => {
        await printAll(await failures.list({ handler }), {
          nothing: 'no run that failed is still not done',
          columns,
        });
      });
    });
}

export function addMute(inbox: Command): void {
  addChange(inbox, 'mute', 'mute a group of failures: alerts no longer report it, until it is unmuted');
}

export function addUnmute(inbox: Command): void {
  addChange(inbox, 'unmute', 'unmute a group of failures: alerts report it again');
}

function addChange(inbox: Command, name: 'mute' | 'unmute', description: string): void {
  takesAccount(inbox.command(name))
    .option(...databaseOption)
    .description(description)
    .argument('<id>', 'the id of the group, as `ringback inbox failures` prints it')
    .action(async (id: string, flags: DatabaseFlag & Account) => {
      const changed = await withReceiver(flags, (receiver) => receiver.failures[name](id, accountOf(flags)));
      await printResult({ id, changed });
      if (!changed) remark(`there is no such group, or it was ${name}d before`);
    });
}
