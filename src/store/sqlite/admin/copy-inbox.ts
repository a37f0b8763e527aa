import Database from 'better-sqlite3';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { ringbackError } from '../../../errors/errors.ts';
import { codeOf } from '../../../kit/error-text.ts';
import { openingCause, openingFix } from '../connection/connection.ts';
import { whyNoInbox } from '../connection/examination.ts';

/** What to do if a temporary copy can't be made. */
export const temporaryFix = 'Set TMPDIR to a folder that you may write to, and that has room for a copy.';

/**
 * Makes a consistent copy of an inbox while receivers work on it. The copy gets its name only when it is whole and on
 * disk, so that half a copy can't be taken for a backup. It doesn't take the place of another file: by a look before the
 * rename, because file systems such as exFAT have no hard links, which would refuse by themselves.
 *
 * Uses `vacuum into`, because SQLite's backup interface begins again whenever something is written.
 *
 * @param fix What to do if it fails, in a sentence
 * @throws RingbackError `backup_failed`
 */
export function copyInbox(file: string, to: string, fix?: string): void {
  // Of this copy alone: another one to the same name may be in progress.
  const partial = `${to}.${process.pid}@${hostname()}.${randomBytes(4).toString('hex')}.partial`;
  try {
    refuseTaken(to);
    removeAbandoned(dirname(to));
    // Only its owner may read the copy, because it holds transcripts and phone numbers.
    closeSync(openSync(partial, 'wx', 0o600));
    fill(partial, file);
    sync(partial);
    refuseTaken(to);
    renameSync(partial, to);
    sync(dirname(to));
  } catch (error) {
    removeIfPossible(partial);
    throw ringbackError('backup_failed', { to, cause: copyCause(error), fix: fix ?? openingFix(error) });
  }
}

/**
 * Removes the parts of copies that were killed on this machine, with SQLite's journals of them: they hold personal data,
 * and take up space.
 */
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, process, host] = /\.(\d+)@(.+)\.[\da-f]{8}\.partial(?:-journal)?$/.exec(name) ?? [];
    if (host === hostname() && !isRunning(Number(process))) removeIfPossible(join(folder, name));
  }
}

/** Whether another process has this id. This one has not begun its copy yet. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * Refuses a name that is taken. With the WAL or journal of an earlier file of that name beside it, SQLite would take
 * that for the copy's, and write it into the copy.
 */
function refuseTaken(to: string): void {
  if (lstatSync(to, { throwIfNoEntry: false })) throw new Error('a file with that name exists already');
  const left = ['-wal', '-journal'].find((end) => existsSync(`${to}${end}`));
  if (left !== undefined) throw new Error(`there is a file ${to}${left}, which belongs to another database`);
}

function fill(copy: string, file: string): void {
  const database = new Database(file, { readonly: true });
  try {
    database.prepare('vacuum into ?').run(copy);
  } finally {
    database.close();
  }
  const found = whyNoInbox(copy);
  if (found !== undefined) throw new Error(found.cause);
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
  if (code === 'ENOENT') return 'there is no such folder';
  if (code === 'EACCES' || code === 'EPERM') return 'you may not write there';
  if (code === 'ENOSPC' || code === 'SQLITE_FULL' || code === 'database_full') return 'the disk is full';
  return openingCause(error);
}
