import { types } from 'node:util';
import { z } from 'zod';
import { configError, ringbackError } from '../../errors/errors.ts';
import { checked, describe, hasMethods, parseStrictly, signalOption } from '../../errors/option-problems.ts';
import { isObject } from '../../kit/values.ts';
import { readId } from '../../events/names.ts';
import { type Duration, inWords, parseDuration } from '../../kit/duration.ts';

/** The platform's answer about a call; every field is optional. */
export interface ReadCall {
  readonly [field: string]: unknown;
}

/** A call by its id. `agentId` is needed only if the answer about the call names no agent. */
export type CallToReconcile = string | { readonly callId: string; readonly agentId?: string | undefined };

/** The calls to check, as a list or an async iterable. */
export type CallsToReconcile = Iterable<CallToReconcile> | AsyncIterable<CallToReconcile>;

/** Options of `receiver.reconcile`: which calls to check, and how to read them. */
export interface ReconcileOptions {
  /** Reads a call: `platform.calls` of `ringback/platform`. */
  readonly calls: {
    get(callId: string, options: { readonly signal: AbortSignal }): Promise<ReadCall>;
  };
  /** Reads a call's analysis: `platform.analyses`. An error with the code `not_ready` means that it has none yet. */
  readonly analyses: {
    get(
      agentId: string,
      callId: string,
      options: { readonly signal: AbortSignal; readonly timeout: number },
    ): Promise<unknown>;
  };
  /** Returns the calls that were in progress or ended since then. Returning too many is harmless. */
  readonly ids: (since: Date) => CallsToReconcile | Promise<CallsToReconcile>;
  /** When the receiver was last reachable, or how long ago. At most as long ago as `retention` keeps events. */
  readonly since: Date | Exclude<Duration, number>;
  /** Cancels it: `reconcile` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a reconciliation. */
export interface Reconciled {
  /** How many calls `ids` returned. */
  readonly calls: number;
  /** How many missing events were recorded. */
  readonly recorded: number;
  /** How many events were already there, or belong to a call that was erased. */
  readonly alreadyThere: number;
  /** How many calls have not ended yet. */
  readonly notEnded: number;
  /** How many ended calls have no analysis yet; it may never come. */
  readonly notAnalysed: number;
  /** How many events are older than `retention` keeps, so that it is unknown whether they were handled. */
  readonly tooOld: number;
  /** How many events have no time in the answer, so that it is unknown whether they are too old. */
  readonly timeUnknown: number;
  /** How many calls could not be read or recorded, or have no valid id: reconcile these again. */
  readonly failed: number;
  /** The first hundred failed calls, with their errors. */
  readonly failures: readonly { readonly callId: string; readonly error: unknown }[];
}

const reader = <Name extends 'calls' | 'analyses'>(name: Name) =>
  z.custom<ReconcileOptions[Name]>(
    (value) => hasMethods(value, ['get']),
    `an object with the method get, such as platform.${name}`,
  );

const schema = z.strictObject({
  calls: reader('calls'),
  analyses: reader('analyses'),
  ids: z.custom<ReconcileOptions['ids']>(
    (value) => typeof value === 'function',
    'a function that returns the ids of calls',
  ),
  since: checked("a Date, or a duration such as '15m' or '2h'", (value) => {
    // Not `instanceof`: test runners have a Date of their own.
    if (types.isDate(value)) return Number.isNaN(value.getTime()) ? undefined : value;
    return typeof value === 'string' ? parseDuration(value) : undefined;
  }),
  signal: signalOption,
});

/**
 * Checks the options. `kept` is how long handled events are kept, in milliseconds.
 *
 * @throws ConfigError for an invalid option, or for a time from which events may have been removed
 */
export function readReconcileOptions(
  options: ReconcileOptions,
  { now, kept }: { now: number; kept: number },
) {
  const { since: given, ...others } = parseStrictly(schema, options, 'reconcile');
  const since = types.isDate(given) ? given : new Date(now - given);
  const ago = now - since.getTime();
  if (ago >= 0 && ago <= kept) return { ...others, since };
  const isFuture = ago < 0;
  throw configError('option_invalid', {
    option: 'since in reconcile',
    expected: isFuture
      ? `in the past: it is ${new Date(now).toISOString()}`
      : `within the time for which retention keeps events, which is ${inWords(kept)}`,
    found: since.toISOString(),
    fix: isFuture
      ? 'Give the time at which the receiver could last be reached.'
      : 'Older events may have been handled and removed, and would be handled again.',
  });
}

/**
 * @throws ConfigError for what isn't a list or an async iterable. A text is one of characters, and none of them is an
 * id.
 */
export function readCallsToReconcile(given: unknown): CallsToReconcile {
  if (isObject(given) && (Symbol.asyncIterator in given || Symbol.iterator in given))
    return given as CallsToReconcile;
  throw configError('option_invalid', {
    option: 'ids in reconcile',
    expected: 'a function that returns a list, or an async iterable, of the ids of calls',
    found: `a function whose result is ${describe(given)}`,
  });
}

/** @throws RingbackError `call_id_invalid` for an invalid id */
export function readCallToReconcile(given: unknown): { callId: string; agentId: string | undefined } {
  const { id, agentId } = idsIn(given);
  const callId = readId(id);
  if (callId === undefined) throw ringbackError('call_id_invalid', { found: describe(id) });
  return { callId, agentId: readId(agentId) };
}

/** The given id of a call, or a description of it if it is invalid. */
export function givenId(given: unknown): string {
  const { id } = idsIn(given);
  return readId(id) ?? describe(id);
}

function idsIn(given: unknown): { readonly id: unknown; readonly agentId: unknown } {
  return isObject(given)
    ? { id: given['callId'], agentId: given['agentId'] }
    : { id: given, agentId: undefined };
}
