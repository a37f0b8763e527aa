import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Every receiver with a file has a thread of its own, and many tests start processes: what was compiled once for one
// of them serves all.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tests wait for processes and disks more than they compute.
    maxWorkers: 2,
    // For the slowest of machines: tests tell no times.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What a test leaves unhandled fails the run: a promise nobody awaited is a defect, not noise.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
