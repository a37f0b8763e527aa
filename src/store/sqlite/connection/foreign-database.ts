import type Database from 'better-sqlite3';
import { ringbackError } from '../../../errors/errors.ts';
import { inboxMark, sandboxMark } from '../../../kit/sqlite.ts';
import { migrations, schemaVersion, versionOf } from './migrations/migrate.ts';

/** Whether the database is an inbox. Its tables show that, too, because users may have set another `application_id`. */
export function isInbox(database: Database.Database): boolean {
  if (markOf(database) === inboxMark) return true;
  const names = namesIn(database);
  return versionOf(database) > 0 && firstTables.every((table) => names.includes(table));
}

/** Tables that every inbox has, and hardly any other program has together. */
const firstTables = ['event_totals', 'quarantine_totals', 'crash_counts'];

/**
 * Refuses the database of another program. Our tables would be among its own, and what that program does to the file,
 * for example a migration, would endanger the inbox. Users' own tables in an inbox don't make it foreign.
 *
 * @throws RingbackError `database_foreign`
 */
export function refuseForeign(database: Database.Database, file: string): void {
  // In one transaction, because another process may be creating the inbox.
  const found = database.transaction(() => (isInbox(database) ? undefined : foreignIn(database)))();
  if (found !== undefined) throw ringbackError('database_foreign', { database: file, found });
}

/** What shows that a database, which isn't an inbox, belongs to another program. */
function foreignIn(database: Database.Database): string | undefined {
  const mark = markOf(database);
  if (mark === sandboxMark) return 'is the database of a sandbox';
  if (mark !== 0) return `is marked as another program's (application_id ${mark})`;
  const names = namesIn(database);
  const version = versionOf(database);
  if (version !== 0 && (names.length > 0 || version <= schemaVersion))
    return `belongs to another program, which keeps its own version in it (user_version ${version})`;
  const taken = names.filter((name) => ownNames.has(name));
  return taken.length > 0
    ? `belongs to another program, with tables named like those of an inbox (${taken.join(', ')})`
    : undefined;
}

/** The lower-case names of all that the migrations create. */
export const ownNames: ReadonlySet<string> = new Set(
  migrations.flatMap((migration) =>
    [...migration.matchAll(/^\s*create (?:table|view|index|trigger) (\w+)/gm)].map(([, name = '']) => name),
  ),
);

function markOf(database: Database.Database): number {
  return database.pragma('application_id', { simple: true }) as number;
}

function namesIn(database: Database.Database): string[] {
  const names = database.prepare('select lower(name) from sqlite_schema order by name').pluck().all();
  return names.map(String);
}
