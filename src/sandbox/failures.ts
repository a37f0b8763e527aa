import { configError } from '../errors.ts';
import { closest } from '../kit/closest-name.ts';

/** Requests that are to be answered with 503, to test how a client retries. */
export class Failures {
  readonly #known: readonly string[];
  readonly #remaining = new Map<string, number>();

  constructor(operations: readonly string[]) {
    this.#known = [...new Set(operations.flatMap((operation) => [groupOf(operation), operation]))];
  }

  /**
   * Makes the next `count` requests of an operation, or of a whole group, fail. 0 cancels what was asked for before.
   *
   * @throws ConfigError `option_invalid`
   */
  expect(operation: string, count: number): void {
    if (!this.#known.includes(operation)) {
      const meant = closest(operation, this.#known);
      throw configError('option_invalid', {
        option: 'operation in sandbox.fail',
        expected: `one of ${this.#known.join(', ')}`,
        found: JSON.stringify(operation),
        ...(meant !== undefined && { fix: `Did you mean ${meant}?` }),
      });
    }
    if (!Number.isSafeInteger(count) || count < 0) {
      const expected = 'a whole number of 0 or more';
      throw configError('option_invalid', {
        option: 'count in sandbox.fail',
        expected,
        found: String(count),
      });
    }
    this.#remaining.set(operation, count);
  }

  /** Whether this request of the operation is to fail; if so, it is counted off. */
  take(operation: string): boolean {
    for (const name of [operation, groupOf(operation)]) {
      const remaining = this.#remaining.get(name) ?? 0;
      if (remaining === 0) continue;
      this.#remaining.set(name, remaining - 1);
      return true;
    }
    return false;
  }
}

/** The part before the dot: `subscriptions` of `subscriptions.create`. */
function groupOf(operation: string): string {
  return operation.slice(0, operation.indexOf('.'));
}
