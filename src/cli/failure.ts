import { RingbackError } from '../errors/errors.ts';
import type { ProblemCode } from '../errors/problems.ts';
import { messageOf } from '../kit/error-text.ts';
import { remark, withoutSecrets } from './stderr.ts';
import { withoutControls } from './terminal.ts';

export const exitCodes = {
  success: 0,
  /** A problem that the user can fix, reported in a sentence on stderr. */
  failure: 1,
  usage: 2,
  unexpected: 70,
} as const;

/** The problems that count as misuse of the command when they come from the command line or the environment. */
const misuses: ReadonlySet<ProblemCode> = new Set([
  'option_invalid',
  'option_unknown',
  'secrets_missing',
  'secret_malformed',
]);

class Misuse extends Error {}

/**
 * Reads from the command line or the environment, and rethrows problems with these as misuse. `flags` maps options to
 * their flags where the names differ.
 */
export function asUsage<T>(read: () => T, flags: Readonly<Record<string, string>> = {}): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RingbackError) || !misuses.has(error.code)) throw error;
    throw new Misuse(withFlag(error.message, flags), { cause: error });
  }
}

function withFlag(message: string, flags: Readonly<Record<string, string>>): string {
  return message.replace(
    /(?<=^The option )(\w+)(?: in \w+)?/,
    (whole, option: string) => flags[option] ?? whole,
  );
}

/** Writes what went wrong as one line on stderr, and returns the exit code. */
export function explain(error: unknown): number {
  const isExpected = isRingbackError(error) || error instanceof Misuse;
  const line = (isExpected ? '' : 'unexpected error: ') + messageOf(error).replaceAll(/\s*\n\s*/g, ' ');
  remark(line);
  // Not from the checked environment, because that check may be what failed.
  const isDebugging = /^(debug|trace)$/.test(process.env['RINGBACK_LOG_LEVEL'] ?? '');
  if (isDebugging && error instanceof Error)
    process.stderr.write(`${withoutControls(withoutSecrets(stackOf(error)))}\n`);
  if (error instanceof Misuse) return exitCodes.usage;
  return isExpected ? exitCodes.failure : exitCodes.unexpected;
}

function stackOf(error: Error): string {
  return error.cause instanceof Error ? stackOf(error.cause) : (error.stack ?? '');
}

/** Also compares the error's name, because an app file may load its own copy of Ringback with other classes. */
export function isRingbackError(error: unknown): error is RingbackError {
  return (
    error instanceof RingbackError ||
    (error instanceof Error && ['RingbackError', 'ConfigError'].includes(error.name))
  );
}
