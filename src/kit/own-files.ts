/** Ringback's own files, which lie beside its modules unless a bundler has parted them. */
import { existsSync } from 'node:fs';

/**
 * One of Ringback's own files or folders, by its path from the module whose `import.meta.url` is given. Bundlers follow
 * `new URL('…', import.meta.url)` where they see it, and stop if it is a folder.
 */
export function ownFile(path: string, besideModule: string): URL {
  return new URL(path, besideModule);
}

/**
 * The file that a thread or a process starts with, by its name without the ending. It lies beside the module whose
 * `import.meta.url` is given, as a source or as published.
 */
export function threadFile(name: string, besideModule: string): URL {
  const ending = besideModule.endsWith('.ts') ? 'ts' : 'js';
  return ownFile(`./${name}.${ending}`, besideModule);
}

/** In a module that webpack has bundled, `typeof` of this is `function`. */
// oxlint-disable-next-line no-underscore-dangle -- the name is webpack's
declare const __webpack_require__: unknown;

/**
 * Whether this code runs as part of a bundle, apart from the files that it was published with: it starts threads from them
 * and serves the operators' page.
 */
export function isBundled(): boolean {
  // Webpack writes down where a module was when it was bundled. On that machine, the files would be found.
  if (typeof __webpack_require__ !== 'undefined') return true;
  // Bundlers leave it out in CommonJS, and make it the place of the bundle in an ES module.
  const url: string | undefined = import.meta.url;
  return url === undefined || !existsSync(threadFile('../store/sqlite/writer/writer-worker', url));
}
