import type Database from 'better-sqlite3';

/**
 * Sets a pragma, such as `busy_timeout = 0`, that is set again and again. The driver's `pragma` would leave a statement
 * behind each time, which keeps memory until a full garbage collection: see `UserStatements`.
 */
export function setPragma(database: Database.Database, setting: string): void {
  database.exec(`pragma ${setting}`);
}
