import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Resolves the links of a path. The target need not exist yet.
 *
 * @throws if the links can't be followed
 */
export function linkTarget(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return isLink(path) ? linkTarget(resolve(dirname(path), readlinkSync(path))) : path;
  }
}

/** Whether an error says that there is no such file. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Whether the path is a link, even to a file that doesn't exist. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
