import type { Logger, LoggerOptions } from 'pino';
import { z } from 'zod';
import { configError } from './errors.ts';
import type { Size } from './kit/bytes.ts';
import type { Clock } from './kit/clock.ts';
import type { Duration } from './kit/duration.ts';
import { hasOwnHeader } from './kit/header-fields.ts';
import type { Random } from './kit/random.ts';
import type { TrustProxySetting } from './kit/trust-proxy.ts';
import { clockOption, headersOption, parseStrictly } from './option-problems.ts';
import {
  asLogger,
  attemptTime,
  count,
  database,
  duration,
  host,
  logger,
  random,
  size,
  trustProxy,
} from './option-values.ts';
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
    /** The bytes of all bodies that are being received at once, beyond the first 64 KB of each. @default '64mb' */
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
/**
 * What the app file of `ringback serve` may export as `options`: those of `createReceiver`, but for what the command itself
 * decides. An option of the command line or of the environment goes before the app's.
 *
 * @example
 * export const options = { tolerance: '10m', retention: { done: '7d' } } satisfies AppOptions;
 */
export type AppOptions = Omit<ReceiverOptions, 'database' | 'logger' | 'clock' | 'random'>;

/** How to try again, with the defaults. */
export const retrySchema = z.strictObject({
  attempts: count.default(12),
  base: duration.default(1_000),
  factor: z.number('a number of 1 or more').min(1, 'a number of 1 or more').default(2),
  cap: duration.default(3_600_000),
});

/** How long what is kept, with the defaults. */
export const retentionSchema = z.strictObject({
  done: duration.default(30 * day),
  dead: duration.default(90 * day),
  quarantine: duration.default(7 * day),
  traceIds: duration.default(180 * day),
});

const optionsSchema = z.strictObject({
  secrets: z.unknown().optional(),
  headers: headersOption
    .transform(
      (headers) => new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    )
    .default(new Map<string, string>()),
  signature: z.unknown().optional(),
  tolerance: duration.default(300_000),
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
      bodyTimeout: duration.default(10_000),
    })
    .prefault({}),
  retention: retentionSchema.prefault({}),
  retry: retrySchema.prefault({}),
  timeout: attemptTime.default(30_000),
  concurrency: count.default(16),
  logger: logger.default({}),
  clock: clockOption,
  random: random.default(() => Math.random),
});

/** The options with everything filled in and nothing left to parse. Frozen. */
export type ResolvedOptions = Readonly<ReturnType<typeof resolveOptions>>;

/**
 * Checks the options and fills in the defaults, once.
 *
 * @throws ConfigError that says which option, what was expected, and what was found (never a secret).
 */
export function resolveOptions(options: ReceiverOptions) {
  const { logger: given, ...resolved } = parseStrictly(optionsSchema, options, 'createReceiver');
  // Null is not "not set": it would go for a layout that was given.
  const signature = resolved.signature === undefined ? 'auto' : (resolved.signature as SignatureOption);
  const secrets = resolved.secrets as ReceiverOptions['secrets'];
  if (secrets === undefined) requireOwnHeader(resolved.headers);
  return Object.freeze({
    ...resolved,
    logger: asLogger(given),
    secrets: secrets === undefined || typeof secrets === 'function' ? secrets : prepareSecrets(secrets),
    layouts: resolveLayouts(signature),
    isLayoutGiven: signature !== 'auto',
  });
}

/** Of an unsigned subscription the headers are all that tells the platform from anybody else. */
function requireOwnHeader(headers: ReadonlyMap<string, string>): void {
  if (headers.size === 0) throw configError('credentials_missing');
  if (hasOwnHeader(headers.keys())) return;
  throw configError('option_invalid', {
    option: 'headers',
    expected: 'an object with at least one header that others do not send, where no secrets are set',
    found: [...headers.keys()].join(', '),
  });
}
