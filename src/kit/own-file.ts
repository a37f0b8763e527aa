/**
 * One of Ringback's own files or folders, by its path from the module whose `import.meta.url` is given. Bundlers follow
 * `new URL('…', import.meta.url)` where they see it, and stop if it is a folder.
 */
export function ownFile(path: string, besideModule: string): URL {
  return new URL(path, besideModule);
}
