/** Ringback's own files, which are beside its modules unless a bundler has separated them. */
import { existsSync } from 'node:fs';

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
