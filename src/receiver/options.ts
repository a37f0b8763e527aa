import type { Logger, LoggerOptions } from 'pino';
import { z } from 'zod';
import type { UserDatabase } from '../dispatch/handler.ts';
import { configError } from '../errors/errors.ts';
import type { Size } from '../kit/bytes.ts';
import { type Clock, type Random, inWholeMilliseconds } from '../kit/clock.ts';
import type { Duration } from '../kit/duration.ts';
import { hasOwnHeader, lowerCased } from '../kit/header-fields.ts';
import type { TrustProxySetting } from '../kit/trust-proxy.ts';
import { clockOption, headersOption, parseStrictly } from '../errors/option-problems.ts';
import {
  asLogger,
  attemptTime,
  count,
  database,
  duration,
  host,
  keepingTime,
  logger,
  random,
  size,
  timeSpan,
  trustProxy,
} from './option-values.ts';
import { type AlertOptions, alertsSchema } from './alert-options.ts';
import { type ShortDuration, shortDurationsIn } from './short-durations.ts';
import { type SignatureOption, resolveSchemes } from '../signature/schemes.ts';
import { type Secrets, prepareSecrets } from '../signature/secrets.ts';
import type { Store, StoreFactory } from '../store/store.ts';

/** How a failed run is retried. The longest wait grows from `base` by `factor` up to `cap`, with full jitter. */
export interface RetryOptions {
  /** How many attempts a run has before it is a dead letter. @default 12 */
  attempts?: number | undefined;
  /** The longest wait before the second attempt. @default '1s' */
  base?: Duration | undefined;
  /** The factor by which the longest wait grows with each further attempt. @default 2 */
  factor?: number | undefined;
  /** The upper bound of the longest wait. @default '1h' */
  cap?: Duration | undefined;
}

/** How long data is kept in the inbox. It is then removed, in small steps between deliveries. */
export interface RetentionOptions {
  /** Events whose runs are all done: from their arrival, or from the end of their last stored run. @default '30d' */
  done?: Duration | undefined;
  /** Events with dead letters: from the end of their last stored run. @default '90d' */
  dead?: Duration | undefined;
  /** Deliveries in quarantine: from their arrival. @default '7d' */
  quarantine?: Duration | undefined;
  /** Trace ids of removed events: as long as this, a late copy still counts as a duplicate. @default '180d' */
  traceIds?: Duration | undefined;
}

/** Options of `createReceiver`. `Transaction` is what the database lends to `ctx.commit`: see `RunContext`. */
export interface ReceiverOptions<Transaction = UserDatabase> {
  /**
   * The subscription's signing secret, or several of which any may match, or a function that returns either. The
   * function is called again for a delivery if its last call is 30 s ago, and after a signature that doesn't match.
   * Undefined counts as not set.
   */
  secrets?: Secrets | (() => Secrets | Promise<Secrets>) | undefined;
  /** The subscription's own headers; each delivery must carry them. @default none */
  headers?: Record<string, string> | undefined;
  /** The signature scheme: `'auto'` finds it and pins it; else a scheme's name, or a scheme in full. @default 'auto' */
  signature?: SignatureOption | undefined;
  /** How far the time of a delivery may be from ours, in either direction. @default '5m' */
  tolerance?: Duration | undefined;
  /** What counts as HTTPS, and which host names the receiver answers to. */
  https?:
    | {
        /** Whether plain HTTP is refused. Set it to false only for development on loopback. @default true */
        required?: boolean | undefined;
        /** The proxies that may say a delivery came over HTTPS, in Express's forms. @default the app's own, else nobody */
        trustProxy?: TrustProxySetting | undefined;
        /** The host names that the receiver answers to. @default any name; where HTTPS is required, no IP address */
        hosts?: string[] | undefined;
      }
    | undefined;
  /**
   * The inbox: a SQLite file, `':memory:'` for tests, a `postgres://` URL, `postgres({ … })` of `ringback/postgres`, or a
   * store. A relative path counts from the folder in which the receiver is made. With a URL, TypeScript takes what
   * `ctx.commit` lends for SQLite's: prefer `postgres()` in code.
   * @default './ringback.db'
   */
  database?: string | StoreFactory<Transaction> | Store<Transaction> | undefined;
  /** How much memory and time one delivery, and all deliveries together, may take. */
  limits?:
    | {
        /** The largest body. @default '5mb' */
        body?: Size | undefined;
        /**
         * The bytes of all bodies that are being received at once, beyond the first 64 KB of each. When they are reached, the
         * slowest unfinished body is refused to make room for the next one.
         * @default '64mb'
         */
        inflight?: Size | undefined;
        /** How long a body may take to arrive. @default '10s' */
        bodyTimeout?: Duration | undefined;
        /** How many values one body may hold: strings, numbers, lists, objects and so on, without names. @default 500000 */
        values?: number | undefined;
        /** How many fields one object in a body may have. @default 20000 */
        fields?: number | undefined;
        /** How many lists and objects may be inside one another in a body. @default 1000 */
        depth?: number | undefined;
      }
    | undefined;
  /** How long data is kept in the inbox. */
  retention?: RetentionOptions | undefined;
  /** What is worth waking somebody. */
  alerts?: AlertOptions | undefined;
  /** How failed runs are retried. */
  retry?: RetryOptions | undefined;
  /** How long one attempt of a handler may take. @default '30s' */
  timeout?: Duration | undefined;
  /** How many runs of each handler may be active at once in this process. @default 16 */
  concurrency?: number | undefined;
  /**
   * Whether a handler or a join for a name that no known event has, but that is close to a known one, is refused. Without
   * it, the log names it at start. A name that is close to none is always taken: the platform may have new events.
   * @default false
   */
  strictNames?: boolean | undefined;
  /** A pino instance, or options for one. @default pino's own defaults */
  logger?: Logger | LoggerOptions | undefined;
  /** The source of time, for tests. @default the machine's */
  clock?: Clock | undefined;
  /** The source of random numbers, for tests: from 0 up to, not including, 1. @default Math.random */
  random?: Random | undefined;
}

const day = 86_400_000;
/**
 * What the app file of `ringback serve` may export as `options`: the options of `createReceiver`, except those that the
 * command sets itself. An option of the command line or of the environment goes before the app file's.
 *
 * @example
 * export const options = { tolerance: '10m', retention: { done: '7d' } } satisfies AppOptions;
 */
export type AppOptions = Omit<ReceiverOptions, 'database' | 'logger' | 'clock' | 'random'>;

/** The options of retrying, without defaults. */
export const retrySchema = z.strictObject({
  attempts: count,
  base: duration,
  factor: z.number('a number of 1 or more').min(1, 'a number of 1 or more'),
  cap: duration,
});

const { attempts, base, factor, cap } = retrySchema.shape;
const retryWithDefaults = z.strictObject({
  attempts: attempts.default(12),
  base: base.default(1_000),
  factor: factor.default(2),
  cap: cap.default(3_600_000),
});

/** The options of retention, with their defaults. */
const retentionSchema = z.strictObject({
  done: keepingTime.default(30 * day),
  dead: keepingTime.default(90 * day),
  quarantine: keepingTime.default(7 * day),
  traceIds: keepingTime.default(180 * day),
});

const optionsSchema = z.strictObject({
  secrets: z.unknown().optional(),
  headers: headersOption
    .transform((headers) => new Map(Object.entries(lowerCased(headers))))
    .default(new Map<string, string>()),
  signature: z.unknown().optional(),
  tolerance: timeSpan.default(300_000),
  https: z
    .strictObject({
      required: z.boolean('true or false').default(true),
      trustProxy: trustProxy.optional(),
      hosts: z.array(host, 'a list of host names').optional(),
    })
    .prefault({}),
  database: database.default('./ringback.db'),
  limits: z
    .strictObject({
      body: size.default(5 * 1024 ** 2),
      inflight: size.default(64 * 1024 ** 2),
      bodyTimeout: timeSpan.default(10_000),
      values: count.default(500_000),
      fields: count.default(20_000),
      depth: count.default(1_000),
    })
    .prefault({}),
  alerts: alertsSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  retry: retryWithDefaults.prefault({}),
  timeout: attemptTime.default(30_000),
  concurrency: count.default(16),
  strictNames: z.boolean('true or false').default(false),
  logger: logger.default({}),
  clock: clockOption,
  random: random.default(() => Math.random),
});

/** The options, parsed, with all defaults filled in. Frozen. */
export type ResolvedOptions = Readonly<ReturnType<typeof resolveOptions>>;

/**
 * Checks the options and fills in the defaults, once.
 *
 * @throws ConfigError that names the option, what was expected, and what was found (never a secret).
 */
export function resolveOptions<Transaction>(options: ReceiverOptions<Transaction>) {
  const { logger: given, ...resolved } = parseStrictly(optionsSchema, options, 'createReceiver');
  // Only undefined counts as not set: null is passed on, and is refused as a scheme.
  const signature = resolved.signature === undefined ? 'auto' : (resolved.signature as SignatureOption);
  const secrets = resolved.secrets as ReceiverOptions['secrets'];
  if (secrets === undefined) requireOwnHeader(resolved.headers, options);
  return Object.freeze({
    ...resolved,
    clock: inWholeMilliseconds(resolved.clock),
    logger: asLogger(given),
    secrets: secrets === undefined || typeof secrets === 'function' ? secrets : prepareSecrets(secrets),
    schemes: resolveSchemes(signature),
    isSchemeGiven: signature !== 'auto',
  });
}

/** The durations among the options that were probably meant as seconds. */
export function shortDurationsOf(options: object): readonly ShortDuration[] {
  return shortDurationsIn(optionsSchema, options);
}

/** Without signatures, only the subscription's headers show which deliveries are the platform's. */
function requireOwnHeader(
  headers: ReadonlyMap<string, string>,
  given: Pick<ReceiverOptions, 'headers'>,
): void {
  if (headers.size === 0) {
    throw configError('credentials_missing', {
      hasUndefinedSecrets: Object.hasOwn(given, 'secrets'),
      hasEmptyHeaders: given.headers !== undefined,
    });
  }
  if (hasOwnHeader(headers.keys())) return;
  throw configError('option_invalid', {
    option: 'headers',
    expected: 'an object with at least one header that others do not send, where no secrets are set',
    found: [...headers.keys()].join(', '),
  });
}
