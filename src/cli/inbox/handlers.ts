import type { Command } from 'commander';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { remark } from '../stderr.ts';
import type { Account } from '../../operate/audit.ts';
import type { HandlerState, HandlerStates } from '../../operate/handlers.ts';
import { accountOf, takesAccount } from '../arguments.ts';
import { withReceiver } from './existing-inbox.ts';
import { printParts, printResult, tableOf } from './print.ts';
import type { Column } from './table.ts';

type ChangeFlags = DatabaseFlag & Account;

const handlerColumns: readonly Column<HandlerState>[] = [
  ['handler', ({ name }) => name],
  ['state', ({ pause, isRegistered }) => (pause ? 'paused' : isRegistered ? 'active' : 'not registered')],
  ['due', ({ due }) => due],
  ['running', ({ running }) => running],
  ['blocked', ({ blocked }) => blocked],
  ['dead', ({ dead }) => dead],
  ['paused since', ({ pause }) => pause?.since],
  ['by', ({ pause }) => pause?.by],
  ['why', ({ pause }) => pause?.reason],
];

const processColumns: readonly Column<HandlerStates['processes'][number]>[] = [
  ['process', ({ id }) => id],
  ['handlers', ({ handlers }) => handlers.join(', ')],
];

export function addHandlers(inbox: Command): void {
  inbox
    .command('handlers')
    .option(...databaseOption)
    .description(
      'print the handlers, what waits for each, which are paused, and the other live processes (in a pipe, as a line of JSON)',
    )
    .action(async (flags: DatabaseFlag) => {
      const { handlers, processes } = await withReceiver(flags, (receiver) => receiver.handlers.list());
      // This command is a process of the inbox, too, but runs nothing.
      const others = processes.filter(({ isThis }) => !isThis);
      await printParts({ handlers, processes: others }, [
        tableOf(handlers, handlerColumns),
        ...(others.length === 0 ? [] : [tableOf(others, processColumns)]),
      ]);
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
