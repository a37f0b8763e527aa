/** The kinds of values that options take, each with the words that an error uses for what was expected. */
import { EventEmitter } from 'node:events';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { hostName } from '../kit/addresses.ts';
import { parseSize } from '../kit/bytes.ts';
import { parseDuration, parsePositiveDuration, parseRate } from '../kit/duration.ts';
import type { Random } from '../kit/clock.ts';
import { messageOf } from '../kit/error-text.ts';
import { compileTrustProxy, wrongEntry } from '../kit/trust-proxy.ts';
import { checked, describe, hasMethods } from '../errors/option-problems.ts';
import { isObject } from '../kit/values.ts';
import { type Database, isDatabaseName, wrongDatabase } from './database.ts';
import { sensibleFrom } from './short-durations.ts';

export const durationWords = "milliseconds or a duration such as '90s', '5m', '30d'";
export const sizeWords = "bytes or a size such as '512kb', '5mb'";

/** A length of time that may be zero or very short: the wait before a retry. */
export const duration = checked(durationWords, parseDuration);
/** A length of time. Zero makes sense, anything else below a second does not. */
export const timeSpan = sensibleFrom(1_000, checked(durationWords, parseDuration));
/** How long something is kept. Zero makes sense, anything else below an hour does not. */
export const keepingTime = sensibleFrom(3_600_000, checked(durationWords, parseDuration));
/** The timeout of an attempt. Zero is refused, since no attempt could meet it; few meet less than a second. */
export const attemptTime = sensibleFrom(
  1_000,
  checked("more than 0: milliseconds or a duration such as '90s', '5m'", parsePositiveDuration),
);
/** How often something may happen, with the gap from one to the next. */
export const rate = checked(
  "a number per second, minute, hour or day: '10/s', '100/m', '500/h', '1000/d'",
  (value) => {
    const gap = parseRate(value);
    return gap === undefined ? undefined : { text: String(value).trim(), gap };
  },
);
export const size = checked(sizeWords, parseSize);
/** A whole number above zero. */
export const count = z.int('a whole number of 1 or more').min(1, 'a whole number of 1 or more');
/** A value, or `false` for never. */
export const orFalse = <T>(words: string, read: (value: unknown) => T | undefined) =>
  checked(`${words}, or false`, (value) => (value === false ? value : read(value)));
export const random = z.custom<Random>((value) => typeof value === 'function', 'a function');
export const trustProxy = checked(
  "true, false, a number of hops, 'loopback', or a list of addresses and CIDR ranges",
  compileTrustProxy,
  (value) => (Array.isArray(value) ? `a list with ${describe(wrongEntry(value))} in it` : undefined),
);
export const host = checked('a host name, without scheme, port, path or *', readHostName);
export const database = checked(
  "a file, ':memory:', a postgres:// URL such as postgres://user@host/app?schema=ringback, postgres({ … }) of ringback/postgres, or a store",
  readDatabase,
  wrongDatabase,
);
export const logger = checked('a pino instance or options for one', readLogger, (value) =>
  isOtherLogger(value)
    ? 'a logger of another kind. Leave it out to use pino with its defaults, which writes to stdout'
    : undefined,
);

/** Accepts only names in the form in which `admit` reads the Host header, in any case: no other could ever match. */
function readHostName(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.includes('*')) return undefined;
  return hostName(value) === value.toLowerCase() ? hostName(value) : undefined;
}

function readDatabase(value: unknown): Database | undefined {
  if (typeof value === 'string') return isDatabaseName(value) ? value : undefined;
  const isStore = hasMethods(value, ['open', 'record', 'close']) || hasMethods(value, ['createStore']);
  return isStore ? (value as Database) : undefined;
}

/** Refuses other loggers: one would be taken for options of pino, and no line would ever reach it. */
function readLogger(value: unknown): Logger | LoggerOptions | undefined {
  if (!isObject(value) || Array.isArray(value)) return undefined;
  if (isLogger(value)) return value;
  return isOtherLogger(value) ? undefined : value;
}

/** Whether a value that is not a pino instance has methods that loggers have. */
function isOtherLogger(value: unknown): boolean {
  return ['info', 'log', 'child'].some((name) => hasMethods(value, [name]));
}

/** @throws ConfigError with pino's message, for options that pino refuses */
export function asLogger(given: Logger | LoggerOptions): Logger {
  if (isLogger(given)) return given;
  try {
    return outlivingItsOutput(pino(given), given);
  } catch (error) {
    const found = `refused by pino: ${messageOf(error)}`;
    throw configError('option_invalid', { option: 'logger', expected: 'options that pino accepts', found });
  }
}

/**
 * Keeps a log file on a full disk from ending the process: pino's output then emits an error, while deliveries get 503
 * until there is room again. After such an error pino must not write at the exit, where it would try forever. A user's
 * own transport is left alone.
 */
function outlivingItsOutput(made: Logger, { transport }: LoggerOptions): Logger {
  const output = (made as { readonly [pino.symbols.streamSym]?: unknown })[pino.symbols.streamSym];
  if (transport !== undefined || !(output instanceof EventEmitter)) return made;
  output.on('error', () => Object.assign(output, { flushSync: () => {} }));
  return made;
}

function isLogger(value: object): value is Logger {
  const methods = ['child', 'bindings', 'isLevelEnabled', 'debug', 'info', 'warn', 'error'];
  return 'level' in value && hasMethods(value, methods);
}
