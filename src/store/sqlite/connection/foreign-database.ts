import type Database from 'better-sqlite3';
import { ringbackError } from '../../../errors/errors.ts';
import { inboxMark, sandboxMark } from '../../../kit/sqlite.ts';
import { migrations, schemaVersion } from './migrations/migrate.ts';

/** Whether a receiver has made the database its inbox. Its users may have given it another mark: its tables show it too. */
export function isInbox(database: Database.Database): boolean {
  if (numberIn(database, 'application_id') === inboxMark) return true;
  const names = namesIn(database);
  return numberIn(database, 'user_version') > 0 && firstTables.every((table) => names.includes(table));
}

/** Tables that every inbox has, and other programs hardly have together. */
const firstTables = ['event_totals', 'quarantine_totals', 'crash_counts'];

/**
 * Refuses the database of another program. Our tables would be among its own, and whatever it does to the file, such as
 * a migration of its own, would endanger the inbox. What users create in an inbox does not make it another program's.
 *
 * @throws RingbackError `database_foreign`
 */
export function refuseForeign(database: Database.Database, file: string): void {
  // In one transaction: another process may be making the inbox meanwhile.
  const found = database.transaction(() => (isInbox(database) ? undefined : foreignIn(database)))();
  if (found !== undefined) throw ringbackError('database_foreign', { database: file, found });
}

/** What shows that a database which is no inbox is another program's. */
function foreignIn(database: Database.Database): string | undefined {
  const mark = numberIn(database, 'application_id');
  if (mark === sandboxMark) return 'is the database of a sandbox';
  if (mark !== 0) return `is marked as another program's (application_id ${mark})`;
  const names = namesIn(database);
  const version = numberIn(database, 'user_version');
  if (version !== 0 && (names.length > 0 || version <= schemaVersion))
    return `is another program's, which keeps its own version in it (user_version ${version})`;
  const taken = names.filter((name) => ownNames.has(name));
  return taken.length > 0
    ? `is another program's, with tables named like those of an inbox (${taken.join(', ')})`
    : undefined;
}

/** The names of what the migrations create, in lower case. */
export const ownNames: ReadonlySet<string> = new Set(
  migrations.flatMap((migration) =>
    [...migration.matchAll(/^\s*create (?:table|view|index|trigger) (\w+)/gm)].map(([, name = '']) => name),
  ),
);

function numberIn(database: Database.Database, pragma: 'application_id' | 'user_version'): number {
  return database.pragma(pragma, { simple: true }) as number;
}

function namesIn(database: Database.Database): string[] {
  const names = database.prepare('select lower(name) from sqlite_schema order by name').pluck().all();
  return names.map(String);
}
