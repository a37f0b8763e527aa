import {
  type LastNumbers,
  type MoveTarget,
  type Progress,
  progressSetting,
  requireUnchanged,
  stateOf,
} from '../../shared/move.ts';
import {
  type ColumnKind,
  type KeptRow,
  type KeptTable,
  columnNames,
  columnsOf,
} from '../../shared/kept-tables.ts';
import type { Session } from '../connection/session.ts';
import type { Transaction } from '../connection/transaction.ts';
import { contentsOf, numbersOf } from './move-source.ts';

const types: Readonly<Record<ColumnKind, string>> = {
  text: 'text[]',
  number: 'bigint[]',
  bytes: 'bytea[]',
};

/** A schema to move to. */
export function targetOn(
  session: Session,
  refuseUse: (transaction: Transaction) => Promise<void>,
): MoveTarget {
  let state: string | undefined;
  const requireSame = async (transaction: Transaction) => {
    // A receiver may have started since the move began, when the inbox was empty.
    await refuseUse(transaction);
    const found = stateOf(await progressOf(transaction), await numbersOf(transaction));
    requireUnchanged(session.name, state, found);
  };
  return {
    name: session.name,
    contents: () => contentsOf(session),
    async progress() {
      const [found, numbers] = [await progressOf(session), await numbersOf(session)];
      state = stateOf(found, numbers);
      return found === undefined ? undefined : (JSON.parse(found) as Progress);
    },
    async write(table, rows, progress) {
      const stored = JSON.stringify(progress);
      await session.write(async (transaction) => {
        await requireSame(transaction);
        if (rows.length > 0) await (otherWriters[table] ?? inserting(table))(transaction, rows);
        await transaction.query(
          'insert into ringback.settings values ($1, $2) on conflict (name) do update set value = excluded.value',
          [progressSetting, stored],
        );
      });
      state = stored;
    },
    finish: (numbers) =>
      session.write(async (transaction) => {
        await requireSame(transaction);
        await finish(transaction, numbers);
      }),
  };
}

/** The stored progress of an unfinished move to this schema. */
export async function progressOf(transaction: Transaction): Promise<string | undefined> {
  const [row] = await transaction.query<{ value: string }>(
    'select value from ringback.settings where name = $1',
    [progressSetting],
  );
  return row?.value;
}

type WriteRows = (transaction: Transaction, rows: readonly KeptRow[]) => Promise<unknown>;

const inserting =
  (table: KeptTable): WriteRows =>
  (transaction, rows) => {
    const lists = columnsOf(table).map(([, kind], index) => `$${index + 1}::${types[kind]}`);
    return transaction.query(
      `insert into ringback.${table} (${columnNames(table).join(', ')}) overriding system value
       select * from unnest(${lists.join(', ')}) on conflict do nothing`,
      listsOf(table, rows),
    );
  };

/** The writers of tables whose rows are not just inserted. */
const otherWriters: Readonly<Partial<Record<KeptTable, WriteRows>>> = {
  quarantine_totals: (transaction, rows) =>
    transaction.query(
      `insert into ringback.settings
       select 'quarantine_dropped', sum(dropped) from unnest($1::text[], $2::bigint[]) as n (kind, dropped)`,
      listsOf('quarantine_totals', rows),
    ),
};

/** A list for each column. */
function listsOf(table: KeptTable, rows: readonly KeptRow[]): unknown[] {
  return columnsOf(table).map((_, index) => rows.map((row) => row[index] ?? null));
}

async function finish(transaction: Transaction, { events, ...numbers }: LastNumbers): Promise<void> {
  if (events > 0) await transaction.query("select setval('ringback.sequences', $1)", [events]);
  for (const [table, last] of Object.entries(numbers))
    if (last > 0)
      await transaction.query(`select setval(pg_get_serial_sequence('ringback.${table}', 'id'), $1)`, [last]);
  await transaction.query('delete from ringback.settings where name = $1', [progressSetting]);
}
