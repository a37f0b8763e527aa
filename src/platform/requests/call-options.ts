import { z } from 'zod';
import { parseStrictly } from '../../option-problems.ts';

/** Options of every operation. */
export interface CallOptions {
  /**
   * Ends the operation, which rejects with the signal's reason. A request that may issue a secret is not ended once it
   * has been sent.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The option `signal` of an operation. */
export const aSignal = z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'an AbortSignal');

const callOptionsSchema = z.strictObject({ signal: aSignal.optional() });

/** @throws ConfigError for an unknown or invalid option */
export function readCallOptions(
  options: CallOptions,
  operation: string,
): { signal?: AbortSignal | undefined } {
  return parseStrictly(callOptionsSchema, options, operation);
}
