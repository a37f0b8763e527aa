import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const page = Buffer.alloc(4_096);
const tries = 200;

/**
 * How long the disk takes to write and sync one page, in milliseconds: the least that a durable commit costs. On a
 * shared machine, this varies from minute to minute by more than the measured differences, and so do the ratios to a
 * server that syncs once per event.
 */
export function syncTimes(): { readonly p50: number; readonly p99: number } {
  const folder = mkdtempSync(join(tmpdir(), 'ringback-bench-'));
  const file = openSync(join(folder, 'page'), 'w');
  try {
    const times = Array.from({ length: tries }, (_, index) => {
      const startedAt = performance.now();
      writeSync(file, page, 0, page.length, index * page.length);
      fdatasyncSync(file);
      return performance.now() - startedAt;
    }).sort((left, right) => left - right);
    const at = (part: number) => times[Math.floor(tries * part)] ?? Number.NaN;
    return { p50: at(0.5), p99: at(0.99) };
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}
