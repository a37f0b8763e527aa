import { ownFile } from './own-file.ts';

/**
 * The file that a thread starts with, by its name without the ending. It lies beside the module whose `import.meta.url`
 * is given, as a source or as published.
 */
export function threadFile(name: string, besideModule: string): URL {
  const ending = besideModule.endsWith('.ts') ? 'ts' : 'js';
  return ownFile(`./${name}.${ending}`, besideModule);
}
