import type Database from 'better-sqlite3';

/**
 * Sets a pragma, such as `busy_timeout = 0`, on a connection that does so again and again. The driver's own `pragma`
 * leaves a statement behind each time. It takes some kilobytes outside of the heap, which only a full garbage
 * collection frees, and the few bytes on the heap do not bring that about.
 */
export function setPragma(database: Database.Database, setting: string): void {
  database.exec(`pragma ${setting}`);
}
