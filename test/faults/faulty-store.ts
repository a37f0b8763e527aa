import type { Clock, Store } from '../support/public.ts';
import { type Work, storeAround } from '../support/store-around.ts';

/** The methods of a store that can break: each of them is a commit point, or hands out work. */
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
/** Those that are called only for events over which a process has died. */
export const poisonVerbs = ['beginReading', 'endReading'] as const;
export type Verb = (typeof verbs)[number] | (typeof poisonVerbs)[number];

/** Breaks before the work is done, or after it: the work is then done, but the caller gets an error. */
export type Fault = 'before' | 'after' | undefined;

/**
 * A store that breaks where `fault` says so, which is asked at each call, counted from 1. Without `handsOver`, every
 * event waits in the inbox until it is claimed, as do events that a process has died over.
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
      // What is claimed has no other owner: a store returns it, or gives it back.
      if (kind === 'after' && verb !== 'claimRuns') throw new Error(`${verb} broke after call ${call}`);
      return result;
    };
  return storeAround(file, clock, (verb, work) =>
    [...verbs, ...poisonVerbs].includes(verb as Verb) ? breaking(verb as Verb, work) : undefined,
  );
}
