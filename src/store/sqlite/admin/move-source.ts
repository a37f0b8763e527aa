import type Database from 'better-sqlite3';
import { type Contents, contentsBy } from '../../shared/contents.ts';
import type { After, LastNumbers, MoveSource, Page } from '../../shared/move.ts';
import {
  type KeptRow,
  type KeptTable,
  bytesKey,
  columnNames,
  keptKeys,
  pageBounds,
} from '../../shared/kept-tables.ts';

/** SQL: the rows to move of tables that are not moved as they are. */
const derivedRows: Readonly<Partial<Record<KeptTable, string>>> = {
  waiting: '(select sequence from waiting union select sequence from claims) join events using (sequence)',
  runs: `(select sequence, handler, call_id, iif(state = 'claimed', 'due', state) as state, attempts,
    iif(state = 'claimed', coalesce(due_at, 0), due_at) as due_at, reason, settled_at, replay, failure from runs)`,
  settings: "(select name, value from settings where name in ('scheme', 'reconciled'))",
};

/** Counts identities once, because a lookup key may be in the eras of several events; the first one counts. */
export const contentsOf = (database: Database.Database): Promise<Contents> =>
  contentsBy({
    table: (name) => name,
    identity: 'distinct identity',
    count: (statement) => database.prepare(statement).pluck().get() as number,
  });

/** A locked database to move from. */
export function sourceOn(database: Database.Database, name: string): MoveSource {
  return {
    name,
    contents: () => contentsOf(database),
    numbers: async () => numbersOf(database),
    page: async (table, after) => pageOf(database, table, after),
  };
}

export const numbersOf = (database: Database.Database): LastNumbers =>
  database.prepare(lastNumbers).get() as LastNumbers;

const lastOf = (table: string) =>
  `coalesce((select seq from sqlite_sequence where name = '${table}'), 0) as ${table}`;
const lastNumbers = `
  select last_sequence as events, ${lastOf('quarantine')}, ${lastOf('audit')} from event_totals`;

function pageOf(database: Database.Database, table: KeptTable, after: After | undefined): Page {
  const keys = table === 'identities' ? ['era', bytesKey] : keptKeys[table];
  const columns = columnNames(table);
  const selectedKeys = keys.map((key) => (key === bytesKey ? `hex(${key})` : key));
  const keyParameters = keys.map((key) => (key === bytesKey ? 'unhex(?)' : '?'));
  const statement = database.prepare(`
    select ${[...columns, ...selectedKeys].join(', ')} from ${derivedRows[table] ?? table}
    ${after ? `where (${keys.join(', ')}) > (${keyParameters.join(', ')})` : ''}
    order by ${keys.join(', ')} limit ${pageBounds.rows}`);
  const rows: KeptRow[] = [];
  let next: After | undefined;
  let bytes = 0;
  for (const row of statement.raw().iterate(...(after ?? [])) as Iterable<KeptRow>) {
    rows.push(row.slice(0, columns.length));
    next = row.slice(columns.length) as After;
    bytes += bytesOf(row);
    if (bytes >= pageBounds.bytes) break;
  }
  return { rows, next };
}

function bytesOf(row: KeptRow): number {
  return row.reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.byteLength : 0), 0);
}
