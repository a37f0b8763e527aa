import type { Command } from 'commander';
import { databaseOption } from '../environment.ts';
import { existingInbox, withInbox } from './existing-inbox.ts';
import { lookInto } from './looking.ts';
import type { FailureGroup } from '../../operate/failures.ts';
import { printPages } from './print.ts';
import type { Column } from './table.ts';

interface FailuresFlags {
  readonly database?: string;
  readonly handler?: string;
}

const columns: readonly Column<FailureGroup>[] = [
  ['id', ({ id }) => id],
  ['handler', ({ handler }) => handler],
  ['dead', ({ dead }) => dead],
  ['retrying', ({ retrying }) => retrying],
  ['last seen', ({ lastSeenAt }) => lastSeenAt],
  ['cause', ({ cause }) => cause],
  ['message', ({ message }) => message],
];

/** Adds `ringback inbox failures`. */
export function addFailures(inbox: Command): void {
  inbox
    .command('failures')
    .option(...databaseOption)
    .option('--handler <name>', 'only of this handler')
    .description(
      'print the failures of runs that are not done, in groups of those that are alike, as lines of JSON',
    )
    .addHelpText('after', '\nThe events of a group: ringback inbox events --failure <id>')
    .action(async ({ handler, ...flags }: FailuresFlags) => {
      await withInbox(await existingInbox(flags), async (store) => {
        const { failures } = lookInto(store);
        const query = handler === undefined ? {} : { handler };
        const all = async () => ({ items: await failures.list(query), cursor: undefined });
        await printPages(all, Infinity, { nothing: 'nothing has failed that is not done since', columns });
      });
    });
}
