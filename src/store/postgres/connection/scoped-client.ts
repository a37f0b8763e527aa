import type { PoolClient } from 'pg';
import { ringbackError } from '../../../errors/errors.ts';

/** The client as the user's function gets it, until `end` is called: what comes later would be in no transaction. */
export function scopedClient(client: PoolClient): { readonly client: PoolClient; readonly end: () => void } {
  let isOver = false;
  const lent = new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (isOver || key === 'release') throw ringbackError('database_lent');
        return (value as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return {
    client: lent,
    end: () => {
      isOver = true;
    },
  };
}
