import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { databasesFolder } from './memory-folder.ts';

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(databasesFolder, 'ringback-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The path of a database that doesn't exist yet, in a folder that is removed when the test ends. */
export function temporaryDatabase(): string {
  return join(temporaryFolder(), 'inbox.db');
}
