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
