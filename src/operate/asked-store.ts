import { RingbackError } from '../errors/errors.ts';

/** What is asked of a store, and what that is called in an error. */
const asked = 'An operation on the inbox';

/**
 * A store, or a part of one, for what people ask and do, which may go on as the receiver stops. What is being read or written
 * then fails with an error of the database or of a thread, which says nothing of a stop; and what has not begun must not open
 * connections again. Both fail as they would have after the stop.
 *
 * @param requireStarted throws RingbackError `receiver_not_started` unless the inbox is open
 */
export function askedStore<Part extends object>(part: Part, requireStarted: (method: string) => void): Part {
  const get = (_: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(part, name, part);
    if (typeof value === 'object' && value !== null) return askedStore(value, requireStarted);
    if (typeof value !== 'function') return value;
    return async (...given: readonly unknown[]): Promise<unknown> => {
      requireStarted(asked);
      try {
        return await Reflect.apply(value, part, given);
      } catch (error) {
        const saysMore = error instanceof RingbackError && error.code !== 'database_closed';
        if (!saysMore) requireStarted(asked);
        throw error;
      }
    };
  };
  // Of an object of its own: a store may be frozen, and what is frozen may not look otherwise.
  return new Proxy<object>({}, { get }) as Part;
}
