import type { Command } from 'commander';
import type { Account, AuditEntry } from '../../operate/audit.ts';
import { accountOf, entryIdArgument, takesAccount } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { remark } from '../stderr.ts';
import { withReceiver } from './existing-inbox.ts';
import { takesTimes } from './filter.ts';
import { printPages, printResult, takesLimit } from './print.ts';
import type { Column } from './table.ts';

interface AuditFlags extends DatabaseFlag {
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
}

const columns: readonly Column<AuditEntry>[] = [
  ['id', ({ id }) => id],
  ['when', ({ at }) => at],
  ['who', ({ by }) => by],
  ['did', ({ action }) => action],
  ['events', ({ events }) => events],
  ['runs', ({ runs }) => runs],
  ['progress', ({ progress }) => progress && `${progress.state} ${Math.floor(progress.share * 100)} %`],
  ['target', ({ what }) => what, 'below'],
  ['why', ({ reason }) => reason],
];

export function addAudit(inbox: Command): void {
  takesLimit(takesTimes(inbox.command('audit'), 'done'))
    .option(...databaseOption)
    .description(
      'print the audit list, what people have done to the inbox, latest first (in a pipe, as lines of JSON)',
    )
    .action(async ({ since, until, limit: max, ...flags }: AuditFlags) => {
      const list = { nothing: 'the audit list is empty', columns };
      await withReceiver(flags, ({ audit }) =>
        printPages((page) => audit.list({ since, until, ...page }), 'entries', max, list),
      );
    });
}

export function addStop(inbox: Command): void {
  takesAccount(inbox.command('stop'))
    .option(...databaseOption)
    .description('stop a replay or a dismissal in progress; what it has changed stays changed')
    .addArgument(entryIdArgument())
    .action(async (id: number, flags: DatabaseFlag & Account) => {
      const stopped = await withReceiver(flags, (receiver) => receiver.events.stop(id, accountOf(flags)));
      await printResult({ id, stopped });
      if (!stopped) remark('it was not in progress');
    });
}
