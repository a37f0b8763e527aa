import { type Contents, contentsBy } from '../../shared/contents.ts';
import type { After, LastNumbers, MoveSource, Page } from '../../shared/move.ts';
import {
  type KeptTable,
  type KeptValue,
  bytesKey,
  columnNames,
  columnsOf,
  keptKeys,
  pageBounds,
} from '../../shared/kept-tables.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';

/** SQL: how many deliveries quarantine has dropped, as a row of SQLite's table. */
const dropped = `(select 'not_authentic' as kind, value::bigint as dropped from ringback.settings
  where name = 'quarantine_dropped')`;

/** SQL: the rows to move of tables that are not moved as they are. */
const derivedRows: Readonly<Partial<Record<KeptTable, string>>> = {
  waiting: `(select sequence, call_id from ringback.waiting
    union select sequence, call_id from ringback.claims)`,
  runs: `(select sequence, handler, call_id, case state when 'claimed' then 'due' else state end as state, attempts,
    case state when 'claimed' then coalesce(due_at, 0) else due_at end as due_at, reason, settled_at, replay, failure
    from ringback.runs)`,
  settings: "(select name, value from ringback.settings where name in ('scheme', 'reconciled'))",
  quarantine_totals: dropped,
};

/** How long it may take to count one kind, in milliseconds. */
const countTimeout = 600_000;

export const contentsOf = (transaction: Transaction): Promise<Contents> =>
  contentsBy({
    table: (name) => (name === 'quarantine_totals' ? `${dropped} t` : `ringback.${name}`),
    identity: '*',
    async count(statement) {
      const [row] = await transaction.query<{ count: number }>(statement, [], countTimeout);
      return row?.count ?? 0;
    },
  });

/** A schema to move from, on which no receiver works. */
export function sourceOn(transaction: Transaction, name: string): MoveSource {
  return {
    name,
    contents: () => contentsOf(transaction),
    numbers: () => numbersOf(transaction),
    page: (table, after) => pageOf(transaction, table, after),
  };
}

export const numbersOf = (transaction: Transaction): Promise<LastNumbers> =>
  oneRow<LastNumbers>(transaction, lastNumbers);

const lastOf = (table: string) =>
  `coalesce(pg_sequence_last_value(pg_get_serial_sequence('ringback.${table}', 'id')::regclass), 0) as ${table}`;
const lastNumbers = `
  select coalesce(pg_sequence_last_value('ringback.sequences'::regclass), 0) as events,
    ${lastOf('quarantine')}, ${lastOf('audit')}`;

type Row = Readonly<Record<string, KeptValue>>;

async function pageOf(transaction: Transaction, table: KeptTable, after: After | undefined): Promise<Page> {
  const keys = keptKeys[table];
  const columns = columnsOf(table);
  const selectedKeys = keys.map(
    (key, index) => `${key === bytesKey ? `encode(${key}, 'hex')` : key} as key_${index}`,
  );
  const keyParameters = keys.map((key, index) =>
    key === bytesKey ? `decode($${index + 1}, 'hex')` : `$${index + 1}`,
  );
  const text = `
    select ${[...columnNames(table), ...selectedKeys].join(', ')} from ${derivedRows[table] ?? `ringback.${table}`} kept
    ${after ? `where (${keys.join(', ')}) > (${keyParameters.join(', ')})` : ''}
    order by ${keys.join(', ')} limit ${pageBounds.rows}`;
  const hasBody = columns.some(([column]) => column === 'body');
  const rows = await transaction.query<Row>(hasBody ? upToBytes(text) : text, after ?? []);
  const last = rows.at(-1);
  return {
    rows: rows.map((row) => columns.map(([column]) => row[column] ?? null)),
    next: last && keys.map((_, index) => last[`key_${index}`] as string | number),
  };
}

/** The first rows of a page, up to a number of bytes, but at least one. */
const upToBytes = (text: string): string => `
  select * from (
    select *, sum(octet_length(body)) over (order by key_0) - octet_length(body) as before from (${text}) page) sized
  where before < ${pageBounds.bytes} order by key_0`;
