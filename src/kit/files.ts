/** Where files are: where links lead, and Ringback's own, which are beside its modules unless a bundler moved them. */
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * One of Ringback's own files or folders, by its path from the module whose `import.meta.url` is given. A function,
 * because bundlers resolve `new URL('…', import.meta.url)` where they see it, and fail if that is a folder.
 */
export function ownFile(path: string, besideModule: string): URL {
  return new URL(path, besideModule);
}

/**
 * The entry file of a thread or a process, by its name without the extension. It is beside the module whose
 * `import.meta.url` is given, as a source or as published.
 */
export function threadFile(name: string, besideModule: string): URL {
  const ending = besideModule.endsWith('.ts') ? 'ts' : 'js';
  return ownFile(`./${name}.${ending}`, besideModule);
}

/** Defined in modules that webpack has bundled. */
// oxlint-disable-next-line no-underscore-dangle -- the name is webpack's
declare const __webpack_require__: unknown;

/**
 * Whether this code runs as part of a bundle, separated from the files that it starts threads from and serves the
 * operators' page from.
 */
export function isBundled(): boolean {
  // Webpack keeps a module's original URL, so on the machine that bundled it the files would be found.
  if (typeof __webpack_require__ !== 'undefined') return true;
  // In a CommonJS bundle it is undefined, and in an ES module the URL of the bundle.
  const url: string | undefined = import.meta.url;
  return url === undefined || !existsSync(threadFile('../store/sqlite/writer/writer-worker', url));
}

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
