import type { Command } from 'commander';
import { type HistoryQuery, historyQuerySchema } from '../../operate/history.ts';
import type { HandlerHistoryPoint, HistoryPoint } from '../../operate/history-points.ts';
import { oneOf } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { withReceiver } from './existing-inbox.ts';
import { takesTimes } from './filter.ts';
import { printAll } from './print.ts';
import type { Column } from './table.ts';

interface HistoryFlags extends HistoryQuery, DatabaseFlag {
  readonly handler?: string;
}

const resolutions = historyQuerySchema.shape.resolution.unwrap().options;

const handlerColumns: readonly Column<HandlerHistoryPoint>[] = [
  ['from', ({ at }) => at],
  ['done', ({ done }) => done],
  ['retried', ({ retried }) => retried],
  ['dead', ({ dead }) => dead],
  ['handler p50 ms', ({ handlerP50 }) => handlerP50],
  ['handler p99 ms', ({ handlerP99 }) => handlerP99],
];

const columns: readonly Column<HistoryPoint>[] = [
  ['from', ({ at }) => at],
  ['accepted', ({ accepted }) => accepted],
  ['duplicate', ({ duplicate }) => duplicate],
  ['refused', ({ refused }) => Object.values(refused).reduce((sum, count) => sum + count, 0)],
  ['quarantined', ({ quarantined }) => quarantined],
  ['answer p99 ms', ({ answerP99 }) => answerP99],
  ['done', ({ done }) => done, 'below'],
  ['retried', ({ retried }) => retried],
  ['dead', ({ dead }) => dead],
  ['handler p99 ms', ({ handlerP99 }) => handlerP99],
  ['waiting', ({ waiting }) => waiting],
  ['oldest ms', ({ oldestWaiting }) => oldestWaiting],
];

export function addHistory(inbox: Command): void {
  takesTimes(inbox.command('history'), 'begun')
    .option(
      '--resolution <name>',
      'minute, which are kept for two days, or hour, for 90 days',
      oneOf(resolutions),
      'minute',
    )
    .option('--handler <name>', 'only the attempts of one handler')
    .option(...databaseOption)
    .description(
      'print numbers of deliveries and runs over time, oldest first, durations in milliseconds (in a pipe, as lines of JSON)',
    )
    .action(async ({ database, handler, ...query }: HistoryFlags) => {
      await withReceiver({ ...(database !== undefined && { database }) }, async ({ history }) => {
        const nothing = 'nothing has happened then';
        if (handler === undefined) await printAll(await history.list(query), { nothing, columns });
        else await printAll(await history.ofHandler(handler, query), { nothing, columns: handlerColumns });
      });
    });
}
