import { RingbackError } from '../errors.ts';
import type { ProblemCode } from '../problems.ts';
import { messageOf } from '../kit/error-text.ts';
import { remark } from './remark.ts';

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

/** The problems that are the fault of the command line or of the environment, when these are what is read. */
const misuses: ReadonlySet<ProblemCode> = new Set([
  'option_invalid',
  'option_unknown',
  'secrets_missing',
  'secret_malformed',
]);

/** A command that was not written as it should be. */
class Misuse extends Error {}

/**
 * Reads from the command line or the environment: what is wrong with these is a misuse of the command. `flags` says by
 * which flag an option is set that has another name inside.
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
  return message.replace(/(?<=^The option )\w+/, (option) => flags[option] ?? option);
}

/** Writes what went wrong as one line on stderr, and returns the exit code. */
export function explain(error: unknown): number {
  const isExpected = isRingbackError(error) || error instanceof Misuse;
  const line = (isExpected ? '' : 'unexpected error: ') + messageOf(error).replaceAll(/\s*\n\s*/g, ' ');
  remark(line);
  // Read here and not from the checked environment: that may be what is wrong.
  const isDebugging = /^(debug|trace)$/.test(process.env['RINGBACK_LOG_LEVEL'] ?? '');
  if (isDebugging && error instanceof Error) process.stderr.write(`${stackOf(error)}\n`);
  if (error instanceof Misuse) return exitCodes.usage;
  return isExpected ? exitCodes.failure : exitCodes.unexpected;
}

/** The stack of what was thrown first: what the sentence is about. */
function stackOf(error: Error): string {
  return error.cause instanceof Error ? stackOf(error.cause) : (error.stack ?? '');
}

/** Known by its name as well as its class: an app file may bring a copy of Ringback of its own. */
export function isRingbackError(error: unknown): error is RingbackError {
  return (
    error instanceof RingbackError ||
    (error instanceof Error && ['RingbackError', 'ConfigError'].includes(error.name))
  );
}
