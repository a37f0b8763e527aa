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

/**
 * How a failed run is retried: with exponential backoff and full jitter. The maximum wait grows from `base` by
 * `factor` up to `cap`.
 */
export interface RetryOptions {
  /** How many attempts a run has before it is a dead letter. @default 12 */
  attempts?: number | undefined;
  /** The maximum wait before the second attempt. @default '1s' */
  base?: Duration | undefined;
  /** The factor by which the maximum wait grows with each further attempt. @default 2 */
  factor?: number | undefined;
  /** The upper bound of the maximum wait. @default '1h' */
  cap?: Duration | undefined;
}

/** How long data is kept in the inbox before it is removed, in small steps between deliveries. */
export interface RetentionOptions {
  /** Events whose runs are all done: from their arrival, or from the end of their last stored run. @default '30d' */
  done?: Duration | undefined;
  /** Events with dead letters: from the end of their last stored run. @default '90d' */
  dead?: Duration | undefined;
  /** Deliveries in quarantine: from their arrival. @default '7d' */
  quarantine?: Duration | undefined;
  /** Trace ids of removed events: until then a late copy still counts as a duplicate. @default '180d' */
  traceIds?: Duration | undefined;
}

/**
 * Options of `createReceiver`. `Transaction` is the type of what `ctx.commit` passes to its function: see
 * `RunContext`.
 */
export interface ReceiverOptions<Transaction = UserDatabase> {
  /**
   * The subscription's signing secret, or several of which any may match, or a function that returns either. The
   * function is called again for a delivery if its last call was more than 30 s ago, and after a signature that doesn't
   * match. Undefined counts as not set.
   */
  secrets?: Secrets | (() => Secrets | Promise<Secrets>) | undefined;
  /** The custom headers of the subscription; each delivery must have them. @default none */
  headers?: Record<string, string> | undefined;
  /**
   * The signature scheme: `'auto'` detects and pins it; otherwise a scheme's name, or a scheme in full.
   * @default 'auto'
   */
  signature?: SignatureOption | undefined;
  /** How far the time of a delivery may be from this machine's clock, in either direction. @default '5m' */
  tolerance?: Duration | undefined;
  /** Whether HTTPS is required, and which host names the receiver answers to. */
  https?:
    | {
        /** Whether plain HTTP is refused. Set it to false only for development on loopback. @default true */
        required?: boolean | undefined;
        /**
         * The proxies that may say a delivery came over HTTPS, in Express's forms.
         * @default the app's own in Express, else none
         */
        trustProxy?: TrustProxySetting | undefined;
        /** The host names that the receiver answers to. @default any name, but no IP address if HTTPS is required */
        hosts?: string[] | undefined;
      }
    | undefined;
  /**
   * The inbox: a SQLite file, `':memory:'` for tests, a `postgres://` URL, `postgres({ … })` of `ringback/postgres`, or
   * a store. A relative path counts from the folder in which the receiver is made. With a URL, TypeScript assumes
   * SQLite's type in `ctx.commit`: prefer `postgres()` in code.
   * @default './ringback.db'
   */
  database?: string | StoreFactory<Transaction> | Store<Transaction> | undefined;
  /** How much memory and time one delivery, and all deliveries together, may take. */
  limits?:
    | {
        /**
         * The maximum size of a body. If it is larger than `inflight`, raise that, too.
         * @default '5mb'
         */
        body?: Size | undefined;
        /**
         * The maximum total size of all bodies being received, beyond the first 64 KB of each. When it is reached,
         * the slowest unfinished body is refused to make room for the next one.
         * @default '64mb'
         */
        inflight?: Size | undefined;
        /** The maximum time a body may take to arrive. @default '10s' */
        bodyTimeout?: Duration | undefined;
        /**
         * The maximum number of values in one body: strings, numbers, lists, objects and so on, without names.
         * @default 500000
         */
        values?: number | undefined;
        /** The maximum number of fields in one object of a body. @default 20000 */
        fields?: number | undefined;
        /** How deeply lists and objects in a body may be nested. @default 1000 */
        depth?: number | undefined;
      }
    | undefined;
  /** How long data is kept in the inbox. */
  retention?: RetentionOptions | undefined;
  /** When alerts are raised, and where they are sent. */
  alerts?: AlertOptions | undefined;
  /** How failed runs are retried. */
  retry?: RetryOptions | undefined;
  /** The deadline of one attempt of a handler. @default '30s' */
  timeout?: Duration | undefined;
  /** The maximum number of active runs of each handler in this process. @default 16 */
  concurrency?: number | undefined;
  /**
   * Whether registering a handler or a join for a probably misspelled event name throws: an unknown name that is
   * close to a known one. Otherwise the log warns at start. Other unknown names are always accepted: the platform may
   * have new events.
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
 * What the app file of `ringback serve` may export as `options`: the options of `createReceiver`, except those that
 * the command sets itself. The command line and the environment take precedence.
 *
 * @example
 * export const options = { tolerance: '10m', retention: { done: '7d' } } satisfies AppOptions;
 */
export type AppOptions = Omit<ReceiverOptions, 'database' | 'logger' | 'clock' | 'random'>;

/** The options of retries, without defaults. */
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

/**
 * The first bytes of each body, which don't count as in flight: small genuine bodies must get through even while
 * unauthenticated senders use up `inflight` with large bodies that stall.
 */
export const uncountedBytes = 64 * 1024;

/** Refuses a size of all bodies in flight that has no room for the largest allowed body. */
function refuseSmallInflight(
  { body, inflight }: { readonly body: number; readonly inflight: number },
  context: z.core.$RefinementCtx,
): void {
  const needed = body - uncountedBytes;
  if (inflight >= needed) return;
  context.addIssue({
    code: 'custom',
    path: ['inflight'],
    message: `at least ${needed} bytes, which a body of the size limits.body takes beyond its first 64 KB`,
    params: { found: `${inflight} bytes` },
  });
}

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
      hosts: z.array(host, 'a list of host names').min(1, 'a list of at least one host name').optional(),
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
    .superRefine(refuseSmallInflight)
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

/** The checked options with all defaults. Frozen. */
export type ResolvedOptions = Readonly<ReturnType<typeof resolveOptions>>;

/**
 * Checks the options and fills in the defaults, once.
 *
 * @throws ConfigError with the option, what was expected, and what was found (never a secret).
 */
export function resolveOptions<Transaction>(options: ReceiverOptions<Transaction>) {
  const { logger: given, ...resolved } = parseStrictly(optionsSchema, options, 'createReceiver');
  // Only undefined counts as not set: null is refused as a scheme.
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

/** The durations in the options that were probably meant as seconds. */
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
    expected: 'an object with at least one header that other senders do not send, because no secrets are set',
    found: [...headers.keys()].join(', '),
  });
}
