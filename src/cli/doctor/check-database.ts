import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RingbackError } from '../../errors/errors.ts';
import { messageOf } from '../../kit/error-text.ts';
import { openingCause } from '../../store/sqlite/connection/connection.ts';
import { examineDatabase } from '../../store/sqlite/connection/examination.ts';
import { schemaVersion } from '../../store/sqlite/connection/migrations/migrate.ts';
import { type Finding, finding } from './finding.ts';
import { inboxFinding } from './inbox-finding.ts';

const check = 'database';

/** Whether the inbox can be opened and written, and what is in it. */
export function checkDatabase(file: string): readonly Finding[] {
  if (file === ':memory:')
    return [finding(check, 'warning', ':memory: keeps nothing: set --database to a file.')];
  if (!existsSync(file)) return [checkFolder(dirname(resolve(file)), file)];
  try {
    const { schema, counts } = examineDatabase(file);
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
