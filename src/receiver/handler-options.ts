/** The options of a handler (`on`) and of a join (`onCall`). */
import { z } from 'zod';
import type { KnownEventName } from '../events/names.ts';
import type { Order } from '../dispatch/handler.ts';
import type { Duration, Rate } from '../kit/duration.ts';
import { givenText, parseStrictly } from '../errors/option-problems.ts';
import { attemptTime, count, rate, timeSpan } from './option-values.ts';
import { type RetryOptions, retrySchema } from './options.ts';
import { type ShortDuration, shortDurationsIn } from './short-durations.ts';

/** Options of one handler: `receiver.on(names, options, handler)`. */
export interface HandlerOptions {
  /**
   * The name under which its runs are stored, at most 512 bytes; keep it across releases.
   * @default its event names, joined by `,`
   */
  name?: string | undefined;
  /** The deadline of one attempt. @default the receiver's `timeout` */
  timeout?: Duration | undefined;
  /** How its failed runs are retried. Fields that are left out are the receiver's. @default the receiver's `retry` */
  retry?: RetryOptions | undefined;
  /**
   * `'call'`: one run at a time for each call, in order of arrival; while a failed run waits for its retry, later runs
   * of the call may go ahead. `'strict'`: later runs of the call wait until it is done or dead. `'none'`: runs of one
   * call may overlap. @default 'call'
   */
  order?: Order | undefined;
  /** The maximum number of its active runs in one process. @default the receiver's `concurrency` */
  concurrency?: number | undefined;
  /**
   * How often its attempts may begin, in all processes of the inbox together, for a service with a rate limit. They
   * begin at equal intervals. @default unlimited
   * @example '10/s', '100/m', '500/h'
   */
  rate?: Rate | undefined;
}

/** Options of a join: `receiver.onCall(options, handler)`. */
export interface JoinOptions extends Omit<HandlerOptions, 'name' | 'order'> {
  /** The name under which its runs are stored. Keep it across releases. */
  name: string;
  /** The names of the events that it waits for; no patterns. Any string is accepted; editors suggest the known names. */
  events: readonly (KnownEventName | (string & Record<never, never>))[];
  /** How long it waits after the arrival of the first of its events. */
  within: Duration;
  /** What to do with an event that arrives after the join was called without it. @default 'run-again', once */
  late?: 'run-again' | 'ignore' | undefined;
}

const handlerSchema = z.strictObject({
  name: givenText.optional(),
  timeout: attemptTime.optional(),
  // Without defaults: what is left out comes from the receiver's options.
  retry: retrySchema.partial().optional(),
  order: z.enum(['call', 'strict', 'none'], "'call', 'strict' or 'none'").default('call'),
  concurrency: count.optional(),
  rate: rate.optional(),
});

const eventName = z
  .string('the name of an event')
  .regex(
    /^[^*]+$/,
    'the name of an event: a join waits for each event by its name, so patterns are not possible',
  );
// Without `order`: the runs of a join for one call must not overlap, because each records which events it has seen.
const joinSchema = handlerSchema.omit({ order: true }).extend({
  name: givenText,
  events: z
    .array(eventName, 'a list of names of events')
    .min(1, 'a list of at least one name')
    .transform((names) => [...new Set(names)]),
  within: timeSpan,
  late: z.enum(['run-again', 'ignore'], "'run-again' or 'ignore'").default('run-again'),
});

/** A handler's checked options; fields that are undefined come from the receiver's options. */
export type ResolvedHandlerOptions = z.output<typeof handlerSchema>;

export function resolveJoinOptions(options: JoinOptions): z.output<typeof joinSchema> {
  return parseStrictly(joinSchema, options, 'receiver.onCall');
}

export function resolveHandlerOptions(options: HandlerOptions): ResolvedHandlerOptions {
  return parseStrictly(handlerSchema, options, 'receiver.on');
}

/** The durations in the options of a handler or a join that were probably meant as seconds. */
export function shortDurationsOfHandler(options: HandlerOptions | JoinOptions): readonly ShortDuration[] {
  return shortDurationsIn(joinSchema, options);
}
