import type { Clock, Store } from '../support/public.ts';
import { type Work, storeAround } from '../support/store-around.ts';

/** The methods of a store that can break: each of them is a commit point, or hands out work. */
export const methods = [
  'record',
  'settle',
  'settleWith',
  'claimEvents',
  'claimRuns',
  'requeue',
  'finish',
  'keepAlive',
] as const satisfies readonly (keyof Store)[];
/** Those that are called only for events over which a process has died. */
export const poisonMethods = [
  'beginReading',
  'endReading',
  'countAttempt',
] as const satisfies readonly (keyof Store)[];
export type Method = (typeof methods)[number] | (typeof poisonMethods)[number];

/** Breaks before the work is done, or after it: the work is then done, but the caller gets an error. */
export type Fault = 'before' | 'after' | undefined;

/**
 * A store that breaks where `fault` says so, which is asked at each call, counted from 1. Without `claimsAtOnce`, every
 * event waits in the inbox until it is claimed, as do events that a process has died over.
 */
export function faultyStore(
  file: string,
  clock: Clock,
  fault: (method: Method, call: number) => Fault,
  { claimsAtOnce = true } = {},
): Store {
  const calls = new Map<string, number>();
  const faultOf = (method: Method): { readonly kind: Fault; readonly call: number } => {
    const call = (calls.get(method) ?? 0) + 1;
    calls.set(method, call);
    return { kind: fault(method, call), call };
  };
  const breaking =
    (method: Method, work: Work): Work =>
    async (...given) => {
      const { kind, call } = faultOf(method);
      if (kind === 'before') throw new Error(`${method} broke before call ${call}`);
      const result = await work(...given);
      // What is claimed has no other owner: a store returns it, or gives it back.
      if (kind === 'after' && method !== 'claimRuns' && method !== 'claimEvents')
        throw new Error(`${method} broke after call ${call}`);
      return result;
    };
  /** A record that breaks after its work is like one that came too late: only its sender gets an error. */
  const breakingRecord =
    (record: Store['record']): Store['record'] =>
    (given, mayClaim) => {
      const { kind, call } = faultOf('record');
      const broken = async () => Promise.reject(new Error(`record broke at call ${call}`));
      if (kind === 'before') return { written: broken(), claimed: Promise.resolve(undefined) };
      const { written, claimed } = record(given, mayClaim && claimsAtOnce);
      return { written: kind === 'after' ? written.then(broken) : written, claimed };
    };
  return storeAround(file, clock, (method, work) => {
    if (method === 'record') return breakingRecord(work as unknown as Store['record']) as unknown as Work;
    return [...methods, ...poisonMethods].includes(method as Method)
      ? breaking(method as Method, work)
      : undefined;
  });
}
