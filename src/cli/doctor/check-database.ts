import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RingbackError } from '../../errors.ts';
import { messageOf } from '../../kit/error-text.ts';
import { connect, openingCause } from '../../store/sqlite/connection.ts';
import { refuseForeign } from '../../store/sqlite/foreign-database.ts';
import { schemaVersion } from '../../store/sqlite/migrations/migrate.ts';
import { prepareOverview } from '../../store/sqlite/overview.ts';
import type { StoreCounts } from '../../store/store.ts';
import { type Finding, finding } from './finding.ts';
import { inboxFinding } from './inbox-finding.ts';

const check = 'database';

/**
 * Whether the inbox can be opened and written, and what is in it. The check itself creates, changes and migrates
 * nothing.
 */
export function checkDatabase(file: string): readonly Finding[] {
  if (file === ':memory:')
    return [finding(check, 'warning', ':memory: keeps nothing: set --database to a file.')];
  if (!existsSync(file)) return [checkFolder(dirname(resolve(file)), file)];
  try {
    const { schema, counts } = lookInto(file);
    if (schema > schemaVersion) return [newer(file, schema)];
    const opened = finding(check, 'ok', `${file} can be written`);
    return counts ? [opened, inboxFinding(counts)] : [opened];
  } catch (error) {
    return [refused(file, error)];
  }
}

function newer(file: string, schema: number): Finding {
  return finding(
    check,
    'wrong',
    `${file} was written by a newer version of Ringback (schema ${schema}): run that one.`,
  );
}

function refused(file: string, error: unknown): Finding {
  if (error instanceof RingbackError) return finding(check, 'wrong', error.message);
  return finding(
    check,
    'wrong',
    `${file} can't be opened for writing: ${openingCause(error)}. Check the path and its permissions.`,
  );
}

function checkFolder(folder: string, file: string): Finding {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return finding(check, 'ok', `${file} is not there yet, and can be made`);
  } catch (error) {
    return finding(
      check,
      'wrong',
      `${file} can't be made: ${messageOf(error)}. Make the folder, or set --database.`,
    );
  }
}

/** The schema of a file, and what is in it if that is ours. */
function lookInto(file: string): { readonly schema: number; readonly counts: StoreCounts | undefined } {
  const database = connect(file, (opened) => refuseForeign(opened, file));
  try {
    const schema = schemaOf(database);
    return { schema, counts: schema === schemaVersion ? prepareOverview(database).counts() : undefined };
  } finally {
    database.close();
  }
}

/**
 * Writes the same version again, and rolls back. Permissions alone don't show whether the disk is mounted read-only.
 * Neither does the lock for a write: for a file that can only be read, SQLite grants a lock for reading.
 */
function schemaOf(database: ReturnType<typeof connect>): number {
  database.exec('begin immediate');
  const found = database.pragma('user_version', { simple: true }) as number;
  database.pragma(`user_version = ${found}`);
  database.exec('rollback');
  return found;
}
