import { storeIn } from './inbox.ts';
import type { Clock, Store } from './public.ts';

/** A method of a store, with any arguments. */
export type Work = (...given: unknown[]) => Promise<unknown>;

/** Returns the replacement of a method, named as `record` or `quarantine.release`; undefined keeps the method. */
type Around = (method: string, work: Work) => Work | undefined;

/** A real store whose methods, and those of its parts, `around` may replace. */
export function storeAround(file: string, clock: Clock, around: Around): Store {
  return replacing(storeIn(file, clock), around);
}

function replacing<Part extends object>(part: Part, around: Around, prefix = ''): Part {
  // Not a proxy of the part itself: it couldn't return other values for properties of a frozen object.
  return new Proxy<Part>(Object.create(part) as Part, {
    get(_, name) {
      const value: unknown = Reflect.get(part, name, part);
      if (typeof value === 'object' && value !== null)
        return replacing(value, around, `${prefix}${String(name)}.`);
      if (typeof value !== 'function') return value;
      const bound = value.bind(part) as Work;
      return around(`${prefix}${String(name)}`, bound) ?? bound;
    },
  });
}
