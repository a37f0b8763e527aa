import { type Logger, type LoggerOptions, pino } from 'pino';
import { z } from 'zod';
import { configError } from './errors.ts';
import { type Size, parseSize } from './kit/bytes.ts';
import { type Clock, systemClock } from './kit/clock.ts';
import { type Duration, parseDuration } from './kit/duration.ts';
import type { Random } from './kit/random.ts';
import { type TrustProxySetting, compileTrustProxy } from './kit/trust-proxy.ts';
import type { Order } from './handling.ts';
import { checked, isObject, parseStrictly } from './option-problems.ts';
import { type SignatureOption, resolveLayouts } from './signature/layouts.ts';
import { type Secrets, prepareSecrets } from './signature/secrets.ts';
import type { Store } from './store/store.ts';

/** How a failed run is tried again. The wait grows from `base` by `factor` up to `cap`, with full jitter. */
export interface RetryOptions {
  /** How many attempts a run has before it is a dead letter. @default 12 */
  attempts?: number;
  /** The longest wait before the second attempt. @default '1s' */
  base?: Duration;
  /** What the longest wait is multiplied by for each further attempt. @default 2 */
  factor?: number;
  /** What the longest wait never exceeds. @default '1h' */
  cap?: Duration;
}

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
  /** The names of the events that it waits for; no patterns. */
  events: readonly string[];
  /** How long it waits after the first of them. */
  within: Duration;
  /** What an event does that comes after the join has fired without it. @default 'run-again', once */
  late?: 'run-again' | 'ignore';
}

/** How long what is kept is kept; then it goes, in small steps between deliveries. */
export interface RetentionOptions {
  /** Events whose runs are all done, after they arrived. @default '30d' */
  done?: Duration;
  /** Events with dead letters, after the last of these was given up. @default '90d' */
  dead?: Duration;
  /** Deliveries in quarantine, after they arrived. @default '7d' */
  quarantine?: Duration;
  /** Trace ids of events that are gone: for so long a late copy is still a duplicate. @default '180d' */
  traceIds?: Duration;
}

/** Options of `createReceiver`. */
export interface ReceiverOptions {
  /**
   * The subscription's signing secret, or several (any of them counts), or a function that gives them and is
   * asked again from time to time and whenever a signature doesn't verify. Undefined counts as not set.
   */
  secrets?: Secrets | (() => Secrets | Promise<Secrets>) | undefined;
  /** The subscription's own headers; each delivery must carry them. @default none */
  headers?: Record<string, string>;
  /** How signatures are written: `'auto'` finds out and pins it, or a layout, by name or in full. @default 'auto' */
  signature?: SignatureOption;
  /** How far a signed time may be from ours, both ways. @default '5m' */
  tolerance?: Duration;
  /** What counts as HTTPS, and which names we answer to. */
  https?: {
    /** Whether plain HTTP is refused. Only for development on loopback should it be taken. @default true */
    required?: boolean;
    /** Who may say that a delivery came over HTTPS, in Express's forms. @default the app's own, else nobody */
    trustProxy?: TrustProxySetting;
    /** The host names we answer to. @default any name; an IP address is refused */
    hosts?: string[];
  };
  /** The inbox: a SQLite file, `':memory:'` for tests, or a store. @default './ringback.db' */
  database?: string | Store;
  /** What one delivery, and all deliveries together, may take of this process. */
  limits?: {
    /** The largest body. @default '5mb' */
    body?: Size;
    /** The bytes of all bodies that are being received at once. @default '64mb' */
    inflight?: Size;
    /** How long a body may take to arrive. @default '10s' */
    bodyTimeout?: Duration;
  };
  /** How long what is kept is kept. */
  retention?: RetentionOptions;
  /** How failed runs are tried again. */
  retry?: RetryOptions;
  /** How long one attempt of a handler may take. @default '30s' */
  timeout?: Duration;
  /** How many runs of each handler may be active at once in this process. @default 16 */
  concurrency?: number;
  /** A pino instance, or options for one. @default pino's own defaults */
  logger?: Logger | LoggerOptions;
  /** Time, for tests. @default the machine's */
  clock?: Clock;
  /** Chance, for tests: a number from 0 up to, not including, 1. @default Math.random */
  random?: Random;
}

const day = 86_400_000;
const duration = checked("milliseconds or a duration such as '90s', '5m', '2h'", parseDuration);
const size = checked("bytes or a size such as '512kb', '5mb'", parseSize);
const count = z.int('a whole number of 1 or more').min(1, 'a whole number of 1 or more');
const aFunction = z.custom<never>((value) => typeof value === 'function', 'a function');

const retrySchema = z.strictObject({
  attempts: count.default(12),
  base: duration.default(1_000),
  factor: z.number('a number of 1 or more').min(1, 'a number of 1 or more').default(2),
  cap: duration.default(3_600_000),
});

const optionsSchema = z.strictObject({
  secrets: z.unknown().optional(),
  headers: z
    .record(
      z.string(),
      z.string('text').min(1, 'text that is not empty'),
      'an object of header names and values',
    )
    .transform(
      (headers) => new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    )
    .default(new Map<string, string>()),
  signature: z.unknown().optional(),
  tolerance: duration.default(300_000),
  https: z
    .strictObject({
      required: z.boolean('true or false').default(true),
      trustProxy: checked(
        "true, false, a number of hops, 'loopback', or a list of addresses and CIDR ranges",
        compileTrustProxy,
      ).optional(),
      hosts: z
        .array(z.string('a host name').min(1, 'a host name').toLowerCase(), 'a list of host names')
        .optional(),
    })
    .prefault({}),
  database: z
    .union([z.string().min(1), z.custom<Store>((value) => typeof (value as Store)?.record === 'function')], {
      error: "a file, ':memory:', or a store",
    })
    .default('./ringback.db'),
  limits: z
    .strictObject({
      body: size.default(5 * 1024 ** 2),
      inflight: size.default(64 * 1024 ** 2),
      bodyTimeout: duration.default(10_000),
    })
    .prefault({}),
  retention: z
    .strictObject({
      done: duration.default(30 * day),
      dead: duration.default(90 * day),
      quarantine: duration.default(7 * day),
      traceIds: duration.default(180 * day),
    })
    .prefault({}),
  retry: retrySchema.prefault({}),
  timeout: duration.default(30_000),
  concurrency: count.default(16),
  logger: z.custom<Logger | LoggerOptions>(isObject, 'a pino instance or options for one').default({}),
  clock: z.custom<Clock>((value) => isObject(value) && 'now' in value, 'a clock').default(systemClock),
  random: aFunction.transform((value) => value as Random).default(() => Math.random),
});

const handlerSchema = z.strictObject({
  name: z.string('text').min(1, 'text that is not empty').optional(),
  timeout: duration.optional(),
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

/** The options with everything filled in and nothing left to parse. Frozen. */
export type ResolvedOptions = Readonly<ReturnType<typeof resolveOptions>>;

/** A handler's options with its own part filled in; what is undefined comes from the receiver. */
export type ResolvedHandlerOptions = z.output<typeof handlerSchema>;

/**
 * Checks the options and fills in the defaults, once.
 *
 * @throws ConfigError that says which option, what was expected, and what was found (never a secret).
 */
export function resolveOptions(options: ReceiverOptions) {
  const { logger, ...resolved } = parseStrictly(optionsSchema, options, 'createReceiver');
  const secrets = resolved.secrets as ReceiverOptions['secrets'];
  if (secrets === undefined && resolved.headers.size === 0) throw configError('credentials_missing');
  return Object.freeze({
    ...resolved,
    logger: isLogger(logger) ? logger : pino(logger),
    secrets: secrets === undefined || typeof secrets === 'function' ? secrets : prepareSecrets(secrets),
    layouts: resolveLayouts((resolved.signature as SignatureOption | undefined) ?? 'auto'),
    isLayoutGiven: resolved.signature !== undefined && resolved.signature !== 'auto',
  });
}

/** Checks the options of one join. */
export function resolveJoinOptions(options: JoinOptions): z.output<typeof joinSchema> {
  return parseStrictly(joinSchema, options, 'onCall');
}

/** Checks the options of one handler. */
export function resolveHandlerOptions(options: HandlerOptions): ResolvedHandlerOptions {
  return parseStrictly(handlerSchema, options, 'on');
}

function isLogger(logger: Logger | LoggerOptions): logger is Logger {
  return typeof (logger as Logger).child === 'function';
}
