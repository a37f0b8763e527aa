import type { Command } from 'commander';
import { databaseOption } from '../environment.ts';
import { remark } from '../stderr.ts';
import type { Account } from '../../operate/audit.ts';
import { accountOf, takesAccount } from '../account.ts';
import { withReceiver } from './existing-inbox.ts';
import { printResult, printWhole } from './print.ts';

interface Flags {
  readonly database?: string;
}

interface ChangeFlags extends Flags, Account {}

export function addHandlers(inbox: Command): void {
  inbox
    .command('handlers')
    .option(...databaseOption)
    .description(
      'print the handlers, what waits for each, which are paused, and the other live processes, as JSON',
    )
    .action(async (flags: Flags) => {
      const { handlers, processes } = await withReceiver(flags, (receiver) => receiver.handlers.list());
      // This command is a process of the inbox, too, but runs nothing.
      printWhole({ handlers, processes: processes.filter(({ isThis }) => !isThis) });
    });
}

export function addPause(inbox: Command): void {
  takesAccount(inbox.command('pause'))
    .option(...databaseOption)
    .description(
      'pause a handler: its runs wait, in every process, until it is resumed; deliveries are accepted as before',
    )
    .argument('<handler>', 'its name')
    .action(async (name: string, flags: ChangeFlags) => {
      const pause = await withReceiver(flags, (receiver) => receiver.handlers.pause(name, accountOf(flags)));
      await printResult({ handler: name, ...pause });
    });
}

export function addResume(inbox: Command): void {
  takesAccount(inbox.command('resume'))
    .option(...databaseOption)
    .description('resume a paused handler')
    .argument('<handler>', 'its name')
    .action(async (name: string, flags: ChangeFlags) => {
      const resumed = await withReceiver(flags, (receiver) =>
        receiver.handlers.resume(name, accountOf(flags)),
      );
      await printResult({ handler: name, resumed });
      if (!resumed) remark('it was not paused');
    });
}
