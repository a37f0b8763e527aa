/**
 * Wraps an object: its methods, and those of objects in it, are called through `around` and become asynchronous.
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
  // Not a proxy of the target itself: if that is frozen, a proxy can't return other properties.
  return new Proxy<Target>(Object.create(target) as Target, { get });
}
