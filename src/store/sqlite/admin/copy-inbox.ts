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

/** No process has such a high number. */
const noPid = 2 ** 31 - 1;

const taken = 'there is a file of that name already';

/** What to do if a copy can't be made that is removed again. */
export const temporaryFix = 'Set TMPDIR to a folder that you may write to, and that has room for a copy.';

/**
 * Makes a copy of an inbox in one consistent state, while receivers go on with it. It is made under another name and gets its
 * own when it is whole and on disk, so that half a copy can't be taken for a backup, and an earlier one is never overwritten.
 *
 * `vacuum into` and not SQLite's backup interface, which begins again whenever something is written.
 *
 * @param fix What to do if it fails, in a sentence
 * @throws RingbackError `backup_failed`
 */
export function copyInbox(file: string, to: string, fix?: string): void {
  const partial = `${to}.partial`;
  let descriptor: number | undefined;
  try {
    // It is the link that decides: this is so that nobody waits for a copy that can't get its name.
    if (lstatSync(to, { throwIfNoEntry: false })) throw new Error(taken);
    refuseLeftovers(to);
    // Left by a copy that was killed.
    rmSync(partial, { force: true });
    // The copy holds transcripts and phone numbers too: it is made for its owner only.
    descriptor = openSync(partial, 'wx', 0o600);
    fill(partial, file);
    fsyncSync(descriptor);
    // Unlike a rename, this fails if there is a file of that name.
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

/** SQLite would take what is left of an earlier file of that name for a part of the copy, and write it into it. */
function refuseLeftovers(to: string): void {
  const left = ['-wal', '-journal'].find((end) => existsSync(`${to}${end}`));
  if (left !== undefined) throw new Error(`there is a file ${to}${left}, which belongs to another database`);
}

/**
 * Another copy to the same name begins by removing what this one has made so far, and the name of the unfinished copy is then that
 * of its half.
 */
function requireOwn(descriptor: number, to: string): void {
  if (isAt(descriptor, to)) return;
  rmSync(to);
  throw new Error('another copy to it was begun meanwhile');
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
  endProcessesOf(copy);
}

/** What can't be removed has a reason that the copy failed for as well, and that is told. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

/**
 * The processes that work on the inbox don't work on its copy. There they count as dead, although they live: whoever starts on the
 * copy would otherwise leave to them what they had claimed. Another boot says so where it is known, and else a process that isn't
 * there; to another machine, they are silent.
 */
function endProcessesOf(copy: string): void {
  const database = new Database(copy);
  try {
    database.exec(
      `update processes set identity = json_set(identity, '$.boot', 'that of a copy', '$.pid', ${noPid})`,
    );
  } finally {
    database.close();
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Why a copy can't be made. */
export function copyCause(error: unknown): string {
  const code = codeOf(error);
  if (code === 'EEXIST') return taken;
  if (code === 'ENOENT') return 'there is no such folder';
  if (code === 'ERR_FS_EISDIR')
    return 'the name of an unfinished copy, with .partial at its end, is that of a folder';
  if (code === 'EACCES' || code === 'EPERM') return 'you may not write there';
  if (code === 'ENOSPC' || code === 'SQLITE_FULL' || code === 'database_full') return 'the disk is full';
  return openingCause(error);
}
