/** The file that a thread starts with: it is beside this one, as a source or as published. */
export function threadFile(name: 'writer-worker' | 'checkpoint-worker'): URL {
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${ending}`, import.meta.url);
}
