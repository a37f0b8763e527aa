import { RingbackError } from '../errors/errors.ts';
import { intercepted } from '../kit/intercepted.ts';

/** What is asked of a store, and what that is called in an error. */
const asked = 'An operation on the inbox';

/** What becomes of an operation whose database is closed under it: neither says that the receiver was stopped. */
const closedUnder: ReadonlySet<string> = new Set(['database_closed', 'database_unreachable']);

/**
 * A store, or a part of one, for what people ask and do: see `whileStarted`.
 *
 * @param requireStarted throws RingbackError `receiver_not_started` unless the inbox is open
 */
export function askedStore<Part extends object>(part: Part, requireStarted: (method: string) => void): Part {
  return intercepted(part, (call) => whileStarted(call, requireStarted));
}

/**
 * Makes a call for what people ask and do, which may go on as the receiver stops. What is being read or written then fails with
 * an error of the database or of a thread, which says nothing of a stop; and what has not begun must not open connections again.
 * Both fail as they would have after the stop.
 */
export async function whileStarted<T>(
  call: () => T | Promise<T>,
  requireStarted: (method: string) => void,
): Promise<T> {
  requireStarted(asked);
  try {
    return await call();
  } catch (error) {
    const saysMore = error instanceof RingbackError && !closedUnder.has(error.code);
    if (!saysMore) requireStarted(asked);
    throw error;
  }
}
