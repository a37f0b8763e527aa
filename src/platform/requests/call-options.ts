import { z } from 'zod';
import { parseStrictly } from '../../errors/option-problems.ts';

/** Options of every operation. */
export interface CallOptions {
  /**
   * Aborts the operation, which rejects with the signal's reason. Operations that may issue a secret, and
   * `documents.refresh`, can't be aborted once a request has been sent.
   */
  readonly signal?: AbortSignal | undefined;
}

export const aSignal = z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'an AbortSignal');

const callOptionsSchema = z.strictObject({ signal: aSignal.optional() });

export function readCallOptions(
  options: CallOptions,
  operation: string,
): { signal?: AbortSignal | undefined } {
  return parseStrictly(callOptionsSchema, options, operation);
}

/** Options of listings that come in pages. */
export interface PageOptions {
  /** How many items to ask for in one page, 1 to 100. @default 100 */
  readonly pageSize?: number | undefined;
  /** Aborts the listing: the next step rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const expectedSize = 'a whole number from 1 to 100';
const pageOptionsSchema = z.strictObject({
  pageSize: z.int(expectedSize).min(1, expectedSize).max(100, expectedSize).default(100),
  signal: aSignal.optional(),
});

/** @throws ConfigError for an invalid option, such as a page size that the platform would answer with 400 */
export function readPageOptions(options: PageOptions, operation: string) {
  return parseStrictly(pageOptionsSchema, options, operation);
}
