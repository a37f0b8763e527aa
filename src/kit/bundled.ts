import { existsSync } from 'node:fs';
import { threadFile } from './own-files.ts';

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
