import { remark } from '../stderr.ts';
import { printAll, tableOf } from '../inbox/print.ts';
import type { Column } from '../inbox/table.ts';
import type { BacktestReport } from './backtest.ts';
import type { ErrorGroup, HandlerReport, RowCounts } from './tally.ts';

const handlerColumns: readonly Column<HandlerReport>[] = [
  ['handler', ({ handler }) => handler],
  ['runs', ({ runs }) => runs],
  ['now', ({ now }) => inWords(now)],
  ['then', ({ past }) => inWords(past)],
  ['worse', ({ worse }) => worse],
  ['better', ({ better }) => better],
];

const rowColumns: readonly Column<RowCounts & { readonly handler: string; readonly table: string }>[] = [
  ['handler', ({ handler }) => handler],
  ['table', ({ table }) => table],
  ['inserted', ({ inserted }) => inserted],
  ['updated', ({ updated }) => updated],
  ['deleted', ({ deleted }) => deleted],
];

const errorColumns: readonly Column<ErrorGroup & { readonly handler: string }>[] = [
  ['handler', ({ handler }) => handler],
  ['runs', ({ runs }) => runs],
  ['worse', ({ worse }) => worse],
  ['now', ({ ending }) => ending],
  ['cause', ({ cause }) => cause],
  ['location', ({ location }) => location],
  ['trace id', ({ traceId }) => traceId],
  ['message', ({ message }) => message],
];

/** Prints a line for each handler, on a terminal as tables, and remarks on stderr. */
export async function printReport({ events, unreadable, handlers, gone }: BacktestReport): Promise<void> {
  const items = events === 0 ? [] : handlers;
  const nothing = events === 0 ? 'no event matches' : 'no handler is registered';
  await printAll(items, { nothing, columns: handlerColumns });
  if (process.stdout.isTTY) {
    printTable(
      items.flatMap(({ handler, rows }) =>
        Object.entries(rows).map(([table, counts]) => ({ handler, table, ...counts })),
      ),
      rowColumns,
    );
    printTable(
      items.flatMap(({ handler, errors }) => errors.map((error) => ({ handler, ...error }))),
      errorColumns,
    );
  }
  if (unreadable > 0) remark(`events that can't be read with the limits of this app: ${unreadable}`);
  if (gone.length > 0) remark(`handlers that ran then but are not in this app: ${gone.join(', ')}`);
  const refused = sumOf(items, ({ now }) => now.refused);
  if (refused > 0)
    remark(
      `runs that tried to use the network, whose outcome is not known: ${refused}. To let them, pass --allow-network`,
    );
  const worse = sumOf(items, (handler) => handler.worse);
  if (worse > 0) remark(`runs that were done then but would fail now: ${worse}`);
}

function printTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): void {
  if (items.length === 0) return;
  process.stdout.write(`\n${tableOf(items, columns).join('\n')}\n`);
}

function inWords(counts: Readonly<Record<string, number>>): string | undefined {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0 ? undefined : parts.map(([name, count]) => `${count} ${name}`).join(', ');
}

function sumOf<Item>(items: readonly Item[], countOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + countOf(item), 0);
}
