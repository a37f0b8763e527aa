import { z } from 'zod';
import { parseStrictly } from '../../option-problems.ts';

/** Options of every operation. */
export interface CallOptions {
  /**
   * Ends the operation, which rejects with its reason. What may issue a secret is no longer ended once its request is on
   * its way.
   */
  readonly signal?: AbortSignal | undefined;
}

/** What ends an operation. */
export const aSignal = z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'an AbortSignal');

const callOptionsSchema = z.strictObject({ signal: aSignal.optional() });

/** @throws ConfigError for an option that isn't one */
export function readCallOptions(
  options: CallOptions,
  operation: string,
): { signal?: AbortSignal | undefined } {
  return parseStrictly(callOptionsSchema, options, operation);
}
