import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { closest } from '../errors/closest-name.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';
import { checked, parseStrictly } from '../errors/option-problems.ts';

/** How requests fail. The default is an answer of 503. */
export interface FailureOptions {
  /** The status of the answer. @default 503 */
  status?: 429 | 500 | 503 | undefined;
  /** The header `Retry-After` of the answer, in seconds. @default none */
  retryAfter?: number | undefined;
  /** Cuts the connection without an answer; nothing is carried out. */
  cut?: true | undefined;
  /** Carries the operation out at once, but delays its answer, in real time. */
  delay?: Duration | undefined;
}

const seconds = 'a whole number of seconds of 0 or more';
const howSchema = z.strictObject({
  status: z.literal([429, 500, 503], '429, 500 or 503').optional(),
  retryAfter: z.int(seconds).min(0, seconds).optional(),
  cut: z.literal(true, 'true').optional(),
  delay: checked("milliseconds or a duration such as '500ms', '15s'", parseDuration).optional(),
});

export type Failure =
  | { readonly kind: 'answer'; readonly status: 429 | 500 | 503; readonly retryAfter: number | undefined }
  | { readonly kind: 'cut' }
  | { readonly kind: 'late'; readonly delay: number };

/** The requests that should fail, to test how a client retries. */
export class Failures {
  readonly #known: readonly string[];
  readonly #expected = new Map<string, { remaining: number; readonly failure: Failure }>();

  constructor(operations: readonly string[]) {
    this.#known = [...new Set(operations.flatMap((operation) => [groupOf(operation), operation]))];
  }

  /** Makes the next `count` requests of an operation, or of a whole group, fail. 0 cancels an earlier call. */
  failNext(operation: string, count: number, how: unknown = {}): void {
    this.#requireKnown(operation);
    if (!Number.isSafeInteger(count) || count < 0) {
      throw configError('option_invalid', {
        option: 'count in sandbox.fail',
        expected: 'a whole number of 0 or more',
        found: String(count),
      });
    }
    this.#expected.set(operation, { remaining: count, failure: readFailure(how) });
  }

  /** How this request of the operation should fail; undefined if it shouldn't. Counts the request off. */
  take(operation: string): Failure | undefined {
    return this.takeExactly(operation) ?? this.takeExactly(groupOf(operation));
  }

  /** The same for work that isn't a request: it fails only by its own name, not with its group. */
  takeExactly(operation: string): Failure | undefined {
    const expected = this.#expected.get(operation);
    if (!expected || expected.remaining === 0) return undefined;
    expected.remaining -= 1;
    return expected.failure;
  }

  #requireKnown(operation: string): void {
    if (this.#known.includes(operation)) return;
    const meant = closest(operation, this.#known);
    throw configError('option_invalid', {
      option: 'operation in sandbox.fail',
      expected: `one of ${this.#known.join(', ')}`,
      found: JSON.stringify(operation),
      fix: meant && `Did you mean ${meant}?`,
    });
  }
}

function readFailure(how: unknown): Failure {
  const given = parseStrictly(howSchema, how, 'sandbox.fail', 'how');
  const { status, retryAfter, cut, delay } = given;
  const ways = [status ?? retryAfter, cut, delay].filter((way) => way !== undefined);
  if (ways.length > 1) {
    throw configError('option_invalid', {
      option: 'how in sandbox.fail',
      expected: 'a status (optionally with retryAfter), cut or delay',
      found: Object.keys(given).join(' with '),
    });
  }
  if (cut) return { kind: 'cut' };
  if (delay !== undefined) return { kind: 'late', delay };
  return { kind: 'answer', status: status ?? 503, retryAfter };
}

function groupOf(operation: string): string {
  return operation.slice(0, operation.indexOf('.'));
}
