import { RingbackError } from '../errors/errors.ts';

/** What errors call an operation on the store. */
const operation = 'An operation on the inbox';

/** The errors of an operation whose database was closed meanwhile: neither says that the receiver was stopped. */
const closedUnder: ReadonlySet<string> = new Set(['database_closed', 'database_unreachable']);

/**
 * A store, or a part of one, whose operations fail with `receiver_not_started` after a stop: see `whileStarted`. All its
 * methods, and those of objects in it, become asynchronous.
 *
 * @param requireStarted throws RingbackError `receiver_not_started` unless the inbox is open
 */
export function gatedStore<Part extends object>(part: Part, requireStarted: (method: string) => void): Part {
  const get = (own: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(own, name, part);
    if (typeof value === 'object' && value !== null) return gatedStore(value, requireStarted);
    if (typeof value !== 'function') return value;
    return (...given: readonly unknown[]) =>
      whileStarted(() => Reflect.apply(value, part, given) as unknown, requireStarted);
  };
  // Not a proxy of the part itself: if that is frozen, a proxy can't return other properties.
  return new Proxy<Part>(Object.create(part) as Part, { get });
}

/**
 * Makes a call to the store that may still be running when the receiver stops. Its read or write would then fail with
 * an error of the database or of a thread, which doesn't mention the stop, and a call that begins later would open
 * connections again. Both fail with `receiver_not_started` instead.
 */
export async function whileStarted<T>(
  call: () => T | Promise<T>,
  requireStarted: (method: string) => void,
): Promise<T> {
  requireStarted(operation);
  try {
    return await call();
  } catch (error) {
    const saysMore = error instanceof RingbackError && !closedUnder.has(error.code);
    if (!saysMore) requireStarted(operation);
    throw error;
  }
}
