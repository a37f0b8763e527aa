import Database from 'better-sqlite3';
import type { Counter } from './backend.ts';

/** Ringback's tables that have a row for each event that is not handled yet; not all of them exist in each version. */
const keepers = ['pending', 'waiting', 'claims'];

/**
 * Counts rows in a server's database. The benchmark does it, because a server that counted its own rows would stall
 * while it is measured. Only the peers' databases are counted elsewhere. Every server that stores in a file has one row
 * per event in `events`.
 */
export class Rows implements Counter {
  readonly #database: Database.Database;
  readonly #last: Database.Statement;
  readonly #since: Database.Statement;
  readonly #open: Database.Statement;

  constructor(file: string) {
    this.#database = new Database(file, { readonly: true });
    const prepare = (sql: string) => this.#database.prepare(sql).pluck();
    this.#last = prepare('select coalesce(max(rowid), 0) from events');
    this.#since = prepare('select count(*) from events where rowid > ?');
    this.#open = prepare(this.#openSql());
  }

  /** The latest row, after which a later count begins. */
  last(): number {
    return this.#last.get() as number;
  }

  /** How many events were stored after a row. */
  storedSince(row: number): number {
    return this.#since.get(row) as number;
  }

  /** How many events and runs are not handled and marked done. */
  open(): number {
    return this.#open.get() as number;
  }

  /** Which of the trace ids are stored; reads the whole table once. */
  missing(traceIds: readonly string[]): string[] {
    const stored = new Set(this.#database.prepare('select trace_id from events').pluck().iterate());
    return traceIds.filter((traceId) => !stored.has(traceId));
  }

  close(): void {
    this.#database.close();
  }

  #openSql(): string {
    const names = this.#database.prepare("select name from sqlite_master where type = 'table'").pluck().all();
    const kept = keepers.filter((name) => names.includes(name));
    if (kept.length === 0)
      return this.#marksDone() ? 'select count(*) from events where done = 0' : 'select 0';
    const runs = "select count(*) from runs where state in ('due', 'claimed', 'blocked')";
    const counts = [...kept.map((name) => `select count(*) from ${name}`), runs];
    return `select ${counts.map((count) => `(${count})`).join(' + ')}`;
  }

  /** Whether events have a mark of being done: those of `servers/least.ts` don't. */
  #marksDone(): boolean {
    const columns = this.#database.prepare("select name from pragma_table_info('events')").pluck().all();
    return columns.includes('done');
  }
}

/** The bytes on disk per event, including indexes, after the WAL was emptied. */
export function bytesPerEvent(file: string): number {
  const database = new Database(file);
  try {
    database.pragma('wal_checkpoint(TRUNCATE)');
    const pages = database.pragma('page_count', { simple: true }) as number;
    const pageSize = database.pragma('page_size', { simple: true }) as number;
    return (pages * pageSize) / (database.prepare('select count(*) from events').pluck().get() as number);
  } finally {
    database.close();
  }
}
