import { storeIn } from './inbox.ts';
import type { Clock, Store } from './public.ts';

/** A method of a store, with any arguments. */
export type Work = (...given: unknown[]) => Promise<unknown>;

/** A real store, each method of which `around` may replace; if it returns undefined, the method stays as it is. */
export function storeAround(
  file: string,
  clock: Clock,
  around: (verb: string, work: Work) => Work | undefined,
): Store {
  return new Proxy(storeIn(file, clock), {
    get(store, name) {
      const value: unknown = Reflect.get(store, name, store);
      if (typeof value !== 'function') return value;
      const bound = value.bind(store) as Work;
      return around(String(name), bound) ?? bound;
    },
  });
}
