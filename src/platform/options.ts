import { z } from 'zod';
import { type ConfigError, configError } from '../errors/errors.ts';
import type { Clock, Random } from '../kit/clock.ts';
import { type Duration, parseDuration, parsePositiveDuration } from '../kit/duration.ts';
import { checked, clockOption, hasMethods, parseStrictly } from '../errors/option-problems.ts';
import { isObject } from '../kit/values.ts';
import { readBaseUrl } from './requests/address.ts';
import { type KnowledgeBasePaths, knowledgeBasePathsOption } from './resources/knowledge-base-paths.ts';

/** The logger of the client, for example a pino instance. No line contains a key, a secret or a body. */
export interface PlatformLogger {
  /** A request that will be tried again. */
  debug(fields: object, message: string): void;
  /** A subscription whose deliveries can't arrive, or that the platform stored differently. */
  warn(fields: object, message: string): void;
}

/**
 * How failed requests are retried: with exponential backoff and full jitter. The maximum wait grows from `base` by
 * `factor` up to `cap`.
 */
export interface PlatformRetryOptions {
  /** The number of attempts, including the first; 1 disables retries. @default 4 */
  attempts?: number | undefined;
  /** The maximum wait before the second attempt. @default '500ms' */
  base?: Duration | undefined;
  /** The factor by which the maximum wait grows with each further attempt. @default 2 */
  factor?: number | undefined;
  /** The upper bound of all waits. A longer `Retry-After` ends the attempts at once. @default '30s' */
  cap?: Duration | undefined;
}

/** Options of `createPlatform`. */
export interface PlatformOptions {
  /** The address of the platform or of a sandbox, HTTPS except on loopback. A path and a trailing slash are allowed. */
  baseUrl: string | URL | undefined;
  /** The API key (platform document, Authentication). Sent as a bearer token to `baseUrl` and nowhere else. */
  apiKey: string | undefined;
  /** The function that sends requests. @default Node's own `fetch` */
  fetch?: typeof fetch | undefined;
  /** How long one attempt may take, including its answer. @default '10s' */
  timeout?: Duration | undefined;
  /** Retries: reads after temporary failures, writes only if they were certainly not carried out. */
  retry?: PlatformRetryOptions | undefined;
  /** Gets retried requests, and warnings, which are in the result as well. @default nowhere */
  logger?: PlatformLogger | undefined;
  /**
   * The paths of the operations on knowledge bases, since the platform's document shows only one of them. Paths that
   * are not given keep their defaults.
   *
   * @example { search: '/api/v1/knowledge-bases/{kb_id}/query' }
   */
  knowledgeBasePaths?:
    | { [Name in keyof KnowledgeBasePaths]?: KnowledgeBasePaths[Name] | undefined }
    | undefined;
  /** Time, for tests. @default the machine's */
  clock?: Clock | undefined;
  /** The source of random numbers, for tests: from 0 up to, not including, 1. @default Math.random */
  random?: Random | undefined;
}

export const durationOption = checked("milliseconds or a duration such as '500ms', '30s'", parseDuration);
export const positiveDurationOption = checked(
  "more than 0: milliseconds or a duration such as '500ms', '10s'",
  parsePositiveDuration,
);
const aFunction = z.custom<never>((value) => typeof value === 'function', 'a function');
const silent: PlatformLogger = { debug: () => {}, warn: () => {} };

const optionsSchema = z.strictObject({
  // Read by hand below: an error must not quote these two, which may be credentials.
  baseUrl: z.unknown().optional(),
  apiKey: z.unknown().optional(),
  fetch: aFunction.transform((value) => value as typeof fetch).default(() => fetch),
  timeout: positiveDurationOption.default(10_000),
  retry: z
    .strictObject({
      attempts: z.int('a whole number of 1 or more').min(1, 'a whole number of 1 or more').default(4),
      base: durationOption.default(500),
      factor: z.number('a number of 1 or more').min(1, 'a number of 1 or more').default(2),
      cap: durationOption.default(30_000),
    })
    .prefault({}),
  logger: checked('a logger, with the methods debug and warn', (value) =>
    hasMethods(value, ['debug', 'warn']) ? (value as PlatformLogger) : undefined,
  ).default(silent),
  knowledgeBasePaths: knowledgeBasePathsOption,
  clock: clockOption,
  random: aFunction.transform((value) => value as Random).default(() => Math.random),
});

export type ResolvedPlatformOptions = Readonly<ReturnType<typeof resolvePlatformOptions>>;

/** @throws ConfigError that says which option, what was expected, and what was found (never the key) */
export function resolvePlatformOptions(options: PlatformOptions) {
  if (!isObject(options)) throw wrongOptions(options);
  const { baseUrl, apiKey, ...rest } = parseStrictly(optionsSchema, options, 'createPlatform');
  return Object.freeze({
    ...rest,
    baseUrl: readBaseUrl(baseUrl),
    apiKey: readApiKey(apiKey, Object.hasOwn(options, 'apiKey')),
  });
}

/** A string in place of the options is most likely the key, so it isn't quoted. */
function wrongOptions(value: unknown): ConfigError {
  return configError('option_invalid', {
    option: 'createPlatform(options)',
    expected: 'an object with baseUrl, apiKey and so on',
    found: value === null ? 'null' : `of type ${typeof value}`,
  });
}

/** Refuses whitespace, such as a line break from a file or shell: the error of `fetch` would quote the key. */
function readApiKey(value: unknown, isGiven: boolean): string {
  if (typeof value === 'string' && /^[!-~]+$/.test(value)) return value;
  throw configError('option_invalid', {
    option: 'apiKey in createPlatform',
    expected: "the platform's API key, visible ASCII characters without blanks",
    found: whatIsWrongWith(value),
    fix: isGiven && value === undefined ? 'Is its environment variable set?' : undefined,
  });
}

function whatIsWrongWith(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value !== 'string') return `of type ${typeof value}`;
  if (value.trim() === '') return 'empty';
  return 'a text with blanks, line breaks or other characters in it';
}
