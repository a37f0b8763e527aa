/**
 * An object whose methods, and those of the objects in it, are called by `around`: all of them become asynchronous.
 *
 * @example
 * intercepted(store, async (call) => {
 *   try {
 *     return await call();
 *   } catch (error) {
 *     throw named(error);
 *   }
 * });
 */
export function intercepted<Target extends object>(
  target: Target,
  around: (call: () => unknown) => Promise<unknown>,
): Target {
  const get = (own: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(own, name, target);
    if (typeof value === 'object' && value !== null) return intercepted(value, around);
    if (typeof value !== 'function') return value;
    return (...given: readonly unknown[]) => around(() => Reflect.apply(value, target, given));
  };
  // Not of the target itself: it may be frozen, and the properties of a frozen object can't be given otherwise.
  return new Proxy<Target>(Object.create(target) as Target, { get });
}
