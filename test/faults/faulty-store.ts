import type { Clock, Store } from '../support/public.ts';
import { type Work, storeAround } from '../support/store-around.ts';

/** Verbs around which something can break: each of them is a commit point, or hands out work. */
export const verbs = [
  'record',
  'settle',
  'settleWith',
  'claimEvents',
  'claimRuns',
  'begin',
  'finish',
  'keepAlive',
] as const;
export type Verb = (typeof verbs)[number];

/** Breaks before the work is done, or after it: then it is done, and nobody is told. */
export type Fault = 'before' | 'after' | undefined;

/**
 * A store that breaks where it is told to; `fault` is asked at each call, counted from 1. Unless it `handsOver`, every
 * event waits in the inbox until it is claimed, as those do that a process has died over.
 */
export function faultyStore(
  file: string,
  clock: Clock,
  fault: (verb: Verb, call: number) => Fault,
  { handsOver = true } = {},
): Store {
  const calls = new Map<string, number>();
  const breaking =
    (verb: Verb, work: Work): Work =>
    async (...given) => {
      const call = (calls.get(verb) ?? 0) + 1;
      calls.set(verb, call);
      const kind = fault(verb, call);
      if (kind === 'before') throw new Error(`${verb} broke before call ${call}`);
      const result = await (verb === 'record' && !handsOver ? work(given[0]) : work(...given));
      if (kind === 'after') throw new Error(`${verb} broke after call ${call}`);
      return result;
    };
  return storeAround(file, clock, (verb, work) =>
    verbs.includes(verb as Verb) ? breaking(verb as Verb, work) : undefined,
  );
}
