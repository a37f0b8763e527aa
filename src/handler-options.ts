/** The options of one handler and of one join: what `on` and `onCall` are given besides names and a function. */
import { z } from 'zod';
import type { KnownEventName } from './events/names.ts';
import type { Order } from './handling.ts';
import type { Duration } from './kit/duration.ts';
import { parseStrictly } from './option-problems.ts';
import { attemptTime, count, duration } from './option-values.ts';
import { type RetryOptions, retrySchema } from './options.ts';

/** Options of one handler: `receiver.on(names, options, handler)`. */
export interface HandlerOptions {
  /** Under which its runs are remembered; stable across releases. @default its event names, joined by `,` */
  name?: string;
  /** How long one attempt may take. @default the receiver's `timeout` */
  timeout?: Duration;
  /** @default the receiver's `retry` */
  retry?: RetryOptions;
  /**
   * `'call'`: one run at a time for each call, in order of arrival; a failed one steps aside while it waits.
   * `'strict'`: later events of the call wait for it. `'none'`: side by side. @default 'call'
   */
  order?: Order;
  /** How many runs of this handler may be active at once in one process. @default the receiver's `concurrency` */
  concurrency?: number;
}

/** Options of a join: `receiver.onCall(options, handler)`. */
export interface JoinOptions extends Omit<HandlerOptions, 'name' | 'order'> {
  /** Under which its runs are remembered; stable across releases. */
  name: string;
  /** The names of the events that it waits for; no patterns. Any string is a name; editors offer the known ones. */
  events: readonly (KnownEventName | (string & Record<never, never>))[];
  /** How long it waits after the first of them. */
  within: Duration;
  /** What an event does that comes after the join was called without it. @default 'run-again', once */
  late?: 'run-again' | 'ignore';
}

const handlerSchema = z.strictObject({
  name: z.string('text').min(1, 'text that is not empty').optional(),
  timeout: attemptTime.optional(),
  retry: retrySchema.partial().optional(),
  order: z.enum(['call', 'strict', 'none'], "'call', 'strict' or 'none'").default('call'),
  concurrency: count.optional(),
});

const eventName = z
  .string('the name of an event')
  .regex(/^[^*]+$/, 'the name of an event: a join waits for each by its name, so patterns are not possible');
// Without `order`: the runs of a join on one call follow each other, or one could miss what another has seen.
const joinSchema = handlerSchema.omit({ order: true }).extend({
  name: z.string('text that is not empty').min(1, 'text that is not empty'),
  events: z
    .array(eventName, 'a list of names of events')
    .min(1, 'a list of at least one name')
    .transform((names) => [...new Set(names)]),
  within: duration,
  late: z.enum(['run-again', 'ignore'], "'run-again' or 'ignore'").default('run-again'),
});

/** A handler's options with its own part filled in; what is undefined comes from the receiver. */
export type ResolvedHandlerOptions = z.output<typeof handlerSchema>;

/** Checks the options of one join. */
export function resolveJoinOptions(options: JoinOptions): z.output<typeof joinSchema> {
  return parseStrictly(joinSchema, options, 'onCall');
}

/** Checks the options of one handler. */
export function resolveHandlerOptions(options: HandlerOptions): ResolvedHandlerOptions {
  return parseStrictly(handlerSchema, options, 'on');
}
