import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

/** The bytes that outlive small garbage collections. */
function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return old?.space_used_size ?? 0;
}

/**
 * How many bytes outlive small garbage collections while 40,000 items of some 800 bytes come, after a full collection
 * has found the first fifty in use.
 */
export function bytesLeftBy(come: (item: number[], index: number) => void): number {
  const item = (index: number) => Array.from({ length: 100 }, () => index);
  for (let index = 0; index < 50; index += 1) come(item(index), index);
  collectGarbage();
  const before = oldBytes();
  for (let index = 50; index < 40_000; index += 1) {
    come(item(index), index);
    if (index % 1_000 === 0) collectGarbage({ type: 'minor' });
  }
  return oldBytes() - before;
}
