import { remark } from './remark.ts';

/**
 * Hears that the output can't be written. A reader that has gone, such as `head`, is no failure, because the command has
 * done its work. On a full disk the output is missing, and the command must not look as if it had succeeded.
 */
export function onOutputFailure(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  remark(
    `The output should be written to stdout, but it can't be: ${error.message}. Make room, and run this again.`,
  );
  process.exit(1);
}
