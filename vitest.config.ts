import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // What a test leaves unhandled fails the run: a promise nobody awaited is a defect, not noise.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
