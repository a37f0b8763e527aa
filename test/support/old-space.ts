/** What outlives small garbage collections, in a process that was started with `--expose-gc`. */
import { getHeapSpaceStatistics } from 'node:v8';

const { gc } = globalThis;

/** Collects garbage: all of it, or only what is young. */
export function collectGarbage(part: 'major' | 'minor' = 'major'): void {
  if (!gc) throw new Error('It needs --expose-gc');
  gc({ type: part });
}

/** The bytes that are used in the old space. */
export function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return old?.space_used_size ?? 0;
}
