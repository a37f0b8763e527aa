#!/usr/bin/env node
/**
 * The command `ringback`. On a Node that is too old, the database driver would end the process silently, so the version
 * is checked before anything imports the driver.
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
// A remark that nobody reads any more must not end a command: without a listener, it would end the process.
process.stderr.on('error', () => {});
const exitCode = await run(process.argv.slice(2));
// Waits until a pipe has taken all output, which would otherwise be lost.
await new Promise((resolve) => process.stdout.write('', resolve));
// Resources that the app file left open must not keep the process alive.
process.exit(exitCode);
