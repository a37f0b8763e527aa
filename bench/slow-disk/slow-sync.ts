import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long each sync takes, in milliseconds. */
export const syncTakes = 300;

/**
 * The environment variables that make a server's disk slow, or undefined if that isn't possible: it needs Linux and a C
 * compiler, which a machine that only runs the tests needn't have.
 */
export function slowSync(folder: string): Readonly<Record<string, string>> | undefined {
  const library = join(folder, 'slow-sync.so');
  const source = fileURLToPath(new URL('./slow-sync.c', import.meta.url));
  const { status } = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
  if (process.platform !== 'linux' || status !== 0) return undefined;
  return { LD_PRELOAD: library, SLOW_SYNC_MS: String(syncTakes) };
}
