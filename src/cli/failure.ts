import { RingbackError, messageOf } from '../errors.ts';

/** What the command exits with. */
export const exitCodes = {
  success: 0,
  /** Something that the user can mend, in a sentence on stderr. */
  failure: 1,
  /** The command was not written as it should be. */
  usage: 2,
  /** Something that should not happen. */
  unexpected: 70,
} as const;

/** Writes what went wrong as one line on stderr, and returns the exit code. */
export function explain(error: unknown): number {
  const isExpected = isRingbackError(error);
  const line = (isExpected ? '' : 'unexpected error: ') + messageOf(error).replaceAll(/\s*\n\s*/g, ' ');
  process.stderr.write(`ringback: ${line}\n`);
  // Read here and not from the checked environment: that may be what is wrong.
  const isDebugging = process.env['RINGBACK_LOG_LEVEL'] === 'debug';
  if (!isExpected && isDebugging && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  return isExpected ? exitCodes.failure : exitCodes.unexpected;
}

/** Known by its name as well as its class: an app file may bring a copy of Ringback of its own. */
export function isRingbackError(error: unknown): boolean {
  return (
    error instanceof RingbackError ||
    (error instanceof Error && ['RingbackError', 'ConfigError'].includes(error.name))
  );
}
