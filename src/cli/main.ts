#!/usr/bin/env node
/**
 * The command `ringback`. On a Node that is too old, the database driver would end the process without a word. The
 * version is therefore checked before anything is imported that loads the driver.
 */
import { ringbackError } from '../errors/errors.ts';
import { hasNeededNodeApi } from '../kit/sqlite.ts';
import { messageOf } from '../kit/error-text.ts';

if (!hasNeededNodeApi()) {
  const problem = ringbackError('node_too_old', { found: process.versions.node });
  process.stderr.write(`ringback: ${messageOf(problem)}\n`);
  process.exit(1);
}

const { run } = await import('./program.ts');
const { onOutputFailure } = await import('./stderr.ts');
process.stdout.on('error', onOutputFailure);
const exitCode = await run(process.argv.slice(2));
// Waits for what a pipe has not taken yet, which would be lost.
await new Promise((resolve) => process.stdout.write('', resolve));
// Anything that the app file has left open must not keep the process alive once the command is done.
process.exit(exitCode);
