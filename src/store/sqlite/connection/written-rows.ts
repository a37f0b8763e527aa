/**
 * Counts by table the rows that users' statements write, for a backtest, which undoes them. Temporary triggers count in
 * a temporary table, so that rows that a statement or savepoint rolls back are not counted.
 */
import type Database from 'better-sqlite3';
import { ownNames } from './foreign-database.ts';

/** The numbers of rows written to a table. */
export interface WrittenRows {
  readonly table: string;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

const ways = { insert: 'inserted', update: 'updated', delete: 'deleted' } as const;
const counters = 'ringback_written_rows';
/** The schema version whose tables are watched: searching for new tables takes longer than most effects. */
const watched = new WeakMap<Database.Database, number>();

/**
 * Makes triggers count the rows that this connection writes to users' tables. Call it outside of a transaction, and
 * before each one, because users may have created tables.
 */
export function watchWrites(database: Database.Database): void {
  const version = database.pragma('main.schema_version', { simple: true }) as number;
  if (watched.get(database) === version) return;
  database.exec(`
    create temp table if not exists ${counters} (
      name text primary key, inserted integer not null, updated integer not null, deleted integer not null)`);
  for (const table of unwatched(database)) watch(database, table);
  watched.set(database, version);
}

/** Starts counting from zero. */
export function beginCounting(database: Database.Database): void {
  database.exec(`update temp.${counters} set inserted = 0, updated = 0, deleted = 0`);
}

/** The rows written since, without tables that have none. */
export function rowsWritten(database: Database.Database): readonly WrittenRows[] {
  const select = database.prepare(`
    select name as "table", inserted, updated, deleted from temp.${counters}
    where inserted + updated + deleted > 0 order by name`);
  return select.all() as WrittenRows[];
}

/** Users' tables without our triggers. SQLite allows none on a virtual table, whose rows are in tables of its module. */
function unwatched(database: Database.Database): readonly string[] {
  const select = database.prepare(`
    select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'
    and not exists (
      select 1 from sqlite_temp_schema where type = 'trigger' and tbl_name = pragma_table_list.name
      and name = 'ringback_inserted ' || tbl_name)`);
  const names = select.pluck().all().map(String);
  return names.filter((name) => !ownNames.has(name.toLowerCase()));
}

function watch(database: Database.Database, table: string): void {
  const name = textOf(table);
  database.exec(`insert or replace into temp.${counters} values (${name}, 0, 0, 0)`);
  for (const [way, column] of Object.entries(ways))
    database.exec(`
      create temp trigger ${identifierOf(`ringback_${column} ${table}`)} after ${way} on main.${identifierOf(table)}
      begin update ${counters} set ${column} = ${column} + 1 where name = ${name}; end`);
}

function identifierOf(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function textOf(name: string): string {
  return `'${name.replaceAll("'", "''")}'`;
}
