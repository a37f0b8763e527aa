/** Where a thread begins: a file beside this one, as a source or as it is published. */
export function threadFile(name: 'commit-worker' | 'checkpoint-worker'): URL {
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${ending}`, import.meta.url);
}
