import Database from 'better-sqlite3';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ringbackError } from '../../../errors/errors.ts';
import { codeOf } from '../../../kit/error-text.ts';
import { openingCause } from '../connection/connection.ts';
import { whyNoInbox } from '../connection/why-no-inbox.ts';

const taken = 'a file with that name exists already';

/** What to do if a temporary copy can't be made. */
export const temporaryFix = 'Set TMPDIR to a folder that you may write to, and that has room for a copy.';

/**
 * Makes a consistent copy of an inbox while receivers work on it. The copy gets its name only when it is whole and on
 * disk, so that half a copy can't be taken for a backup, and never overwrites a file.
 *
 * Uses `vacuum into`, because SQLite's backup interface begins again whenever something is written.
 *
 * @param fix What to do if it fails, in a sentence
 * @throws RingbackError `backup_failed`
 */
export function copyInbox(file: string, to: string, fix?: string): void {
  const partial = `${to}.partial`;
  let descriptor: number | undefined;
  try {
    // The link below decides; this only fails early.
    if (lstatSync(to, { throwIfNoEntry: false })) throw new Error(taken);
    refuseLeftovers(to);
    // Left by a copy that was killed.
    rmSync(partial, { force: true });
    // Only its owner may read the copy, because it holds transcripts and phone numbers.
    descriptor = openSync(partial, 'wx', 0o600);
    fill(partial, file);
    fsyncSync(descriptor);
    // Unlike a rename, a link fails if there is a file of that name.
    linkSync(partial, to);
    requireOwn(descriptor, to);
    rmSync(partial);
    sync(dirname(to));
  } catch (error) {
    if (descriptor !== undefined && isAt(descriptor, partial)) removeIfPossible(partial);
    throw ringbackError('backup_failed', { to, cause: copyCause(error), fix });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** SQLite would take the WAL or journal of an earlier file of that name for the copy's, and write it into the copy. */
function refuseLeftovers(to: string): void {
  const left = ['-wal', '-journal'].find((end) => existsSync(`${to}${end}`));
  if (left !== undefined) throw new Error(`there is a file ${to}${left}, which belongs to another database`);
}

/**
 * Refuses if `partial` was another copy's when it was linked: a copy to the same name begins by removing what this one
 * has made so far.
 */
function requireOwn(descriptor: number, to: string): void {
  if (isAt(descriptor, to)) return;
  rmSync(to);
  throw new Error('another copy to it has been started meanwhile');
}

function isAt(descriptor: number, path: string): boolean {
  const [own, found] = [fstatSync(descriptor), statSync(path, { throwIfNoEntry: false })];
  return found !== undefined && own.ino === found.ino && own.dev === found.dev;
}

function fill(copy: string, file: string): void {
  const database = new Database(file, { readonly: true });
  try {
    database.prepare('vacuum into ?').run(copy);
  } finally {
    database.close();
  }
  const found = whyNoInbox(copy);
  if (found !== undefined) throw new Error(found);
}

/** If this fails, the copy has failed for the same reason, which is reported. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function copyCause(error: unknown): string {
  const code = codeOf(error);
  if (code === 'EEXIST') return taken;
  if (code === 'ENOENT') return 'there is no such folder';
  if (code === 'ERR_FS_EISDIR')
    return 'there is a folder with the name of the unfinished copy, which ends in .partial';
  if (code === 'EACCES' || code === 'EPERM') return 'you may not write there';
  if (code === 'ENOSPC' || code === 'SQLITE_FULL' || code === 'database_full') return 'the disk is full';
  return openingCause(error);
}
