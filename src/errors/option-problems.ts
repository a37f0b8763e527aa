/** Turns a schema's findings about options into an error message for the user. */
import { types } from 'node:util';
import { z } from 'zod';
import { type ConfigError, configError } from './errors.ts';
import { type Clock, systemClock } from '../kit/clock.ts';
import { headerName, headerValue } from '../kit/header-fields.ts';
import { closest } from './closest-name.ts';
import { parseInstant } from '../kit/time.ts';
import { isObject, valueAt } from '../kit/values.ts';

/** How many options a message names when it asks for an object of them. */
const maxNamed = 5;
/** Options whose values are credentials: headers, fixed parameters of tools, and addresses of webhooks. */
const credentialOptions = new Set(['headers', 'fixed_params', 'fixedParams', 'notify']);
/** How many characters of a text a message quotes. */
const maxQuoted = 100;

/**
 * Checks a value against a strict schema. In the message, `where` names the function, and `argument` its argument.
 *
 * @throws ConfigError that says which option, what was expected, what was found, and what to do
 */
export function parseStrictly<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
  argument = 'options',
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw problemOf(mainIssueOf(result.error.issues), schema, value, { where, argument });
}

/** An unknown name goes first: it may be the misspelled name of an option that is reported missing. */
function mainIssueOf(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  return issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
}

function problemOf(
  issue: z.core.$ZodIssue | undefined,
  schema: z.ZodType,
  value: unknown,
  { where, argument }: { readonly where: string; readonly argument: string },
): ConfigError {
  const path = issue?.path.map(String) ?? [];
  if (issue?.code === 'unrecognized_keys') {
    const known = knownOptions(schema, path);
    const option = issue.keys[0] ?? '';
    const meant = innerOption(schema, path, option) ?? closest(option, known);
    return configError('option_unknown', {
      option: beginningOf(option),
      where: [where, ...path].join('.'),
      meant,
      known: known.join(', '),
    });
  }
  const found = valueAt(value, path);
  return configError('option_invalid', {
    option: path.length === 0 ? `${where}(${argument})` : `${path.join('.')}${inCall(where)}`,
    expected: expectedBy(issue, schema, path),
    found:
      foundBy(issue) ??
      (path.some((key) => credentialOptions.has(key)) ? describeCredential(found) : describe(found)),
  });
}

function foundBy(issue: z.core.$ZodIssue | undefined): string | undefined {
  const found: unknown = issue?.code === 'custom' ? issue.params?.['found'] : undefined;
  return typeof found === 'string' ? found : undefined;
}

/** Options of `createReceiver` and environment variables are named without the function. */
function inCall(where: string): string {
  return ['createReceiver', 'the environment'].includes(where) ? '' : ` in ${where}`;
}

function expectedBy(issue: z.core.$ZodIssue | undefined, schema: z.ZodType, path: readonly string[]): string {
  if (issue?.code !== 'invalid_type' || issue.expected !== 'object') return issue?.message ?? 'valid';
  const known = knownOptions(schema, path);
  const few = known.slice(0, maxNamed);
  return `an object with ${few.join(', ')}${few.length < known.length ? ' and so on' : ''}`;
}

function knownOptions(schema: z.ZodType, path: readonly string[]): readonly string[] {
  return Object.keys(shapeAt(schema, path));
}

/** The full path of an option that was given one level too high: `https.trustProxy` for `trustProxy`. */
function innerOption(schema: z.ZodType, path: readonly string[], option: string): string | undefined {
  const outer = Object.entries(shapeAt(schema, path)).find(([, inner]) => {
    const group = unwrap(inner);
    return group instanceof z.ZodObject && Object.hasOwn(group.shape, option);
  });
  return outer && `${outer[0]}.${option}`;
}

function shapeAt(schema: z.ZodType, path: readonly string[]): Readonly<Record<string, unknown>> {
  let inner: unknown = schema;
  for (const key of path) inner = unwrap(stepInto(inner, key));
  return inner instanceof z.ZodObject ? inner.shape : {};
}

/** The schema of an entry: all entries of a record or a list have the same. */
function stepInto(schema: unknown, key: string): unknown {
  if (schema instanceof z.ZodRecord) return schema.valueType;
  if (schema instanceof z.ZodArray) return schema.element;
  return schema instanceof z.ZodObject ? schema.shape[key] : undefined;
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional
    ? unwrap(schema.unwrap())
    : schema;
}

/** A value in a message, after "is": never quoted at length, and never a credential. */
export function describe(value: unknown): string {
  // A secret that was given for another option must not get into the message, which ends up in logs.
  if (typeof value === 'string' && value.includes('whsec_')) return 'a signing secret';
  const scheme = typeof value === 'string' ? /^([\w+.-]+):\/\/[^/]*@/.exec(value)?.[1] : undefined;
  if (scheme !== undefined) return `a URL that begins with ${scheme}:// and has a user name or password`;
  if (typeof value === 'string' && /^postgres(ql)?:|\bpassword=/i.test(value))
    return 'text that may hold a password';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (types.isDate(value)) return 'a Date';
  return `of type ${typeof value}`;
}

function quote(text: string): string {
  const beginning = beginningOf(text);
  return beginning === text
    ? JSON.stringify(text)
    : `${JSON.stringify(beginning)} (${Array.from(text).length} characters)`;
}

function beginningOf(text: string): string {
  const characters = Array.from(text);
  return characters.length <= maxQuoted ? text : `${characters.slice(0, maxQuoted).join('')}…`;
}

/** Like `describe`, but without quoting: even a number may be a PIN. */
function describeCredential(value: unknown): string {
  if (value === '') return 'empty';
  return ['string', 'number', 'boolean'].includes(typeof value) ? `of type ${typeof value}` : describe(value);
}

/**
 * A schema made of a function that returns undefined for values it can't read. The message contains `expected`, and
 * what `tell` returns about the wrong value, if anything.
 */
export function checked<T>(
  expected: string,
  read: (value: unknown) => T | undefined,
  tell: (value: unknown) => string | undefined = () => undefined,
) {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: expected, params: { found: tell(value) } });
    return z.NEVER;
  });
}

/** Whether a value has these methods. Clocks, loggers and stores are recognized by their methods, not by class. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === 'function');
}

export const clockOption = checked('a clock, with the methods now, elapsed and after', (value) =>
  hasMethods(value, ['now', 'elapsed', 'after']) ? (value as Clock) : undefined,
).default(systemClock);

const headersExpected = 'an object of header names and values';
const valueExpected = 'non-empty visible ASCII text without spaces at its ends';

/** The subscription's own headers, by name. Their values are credentials. */
export const headersOption = z
  .record(z.string(), z.unknown(), headersExpected)
  .superRefine(requireHeaderNames)
  .pipe(z.record(z.string(), z.string(valueExpected).regex(headerValue, valueExpected)));

/** Quotes only the invalid character: a whole header, with a credential in it, may have been given as a name. */
export function requireHeaderNames(
  headers: Readonly<Record<string, unknown>>,
  context: z.core.$RefinementCtx,
): void {
  const wrong = Object.keys(headers).find((name) => !headerName.test(name));
  if (wrong === undefined) return;
  const character = Array.from(wrong).find((one) => !headerName.test(one));
  context.addIssue({
    code: 'custom',
    message: "an object whose keys are header names, such as 'X-Api-Key'",
    params: {
      found:
        character === undefined ? 'one with an empty key' : `one with ${JSON.stringify(character)} in a key`,
    },
  });
}

/** A text given by a user that is not blank. */
export const givenText = z
  .string('text that is not empty')
  .min(1, 'text that is not empty')
  .refine((value) => value.trim() !== '', 'text that is not empty');

/** A time given by a user: a Date, milliseconds since 1970, or text in ISO 8601. A date alone means midnight UTC. */
export type Instant = Date | number | string;

const instantExpected =
  'a Date, milliseconds since 1970, or ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31';

/** The options of every list besides its own filters. Times become milliseconds. */
export const listOptions = {
  since: checked(instantExpected, readInstant).optional(),
  until: checked(instantExpected, readInstant).optional(),
  limit: z
    .int('a whole number from 1 to 1000')
    .min(1, 'a whole number from 1 to 1000')
    .max(1_000, 'a whole number from 1 to 1000')
    .default(100),
  /** Only the store that gave it knows whether it is one. */
  cursor: z.string('the cursor of another page').optional(),
};

/** Not by `instanceof`: test runners have an AbortSignal of their own. */
export const signalOption = checked('an AbortSignal', (value) =>
  hasMethods(value, ['throwIfAborted', 'addEventListener']) ? (value as AbortSignal) : undefined,
).optional();

/** The options of a search besides its filter. */
export const searchOptionsSchema = z.strictObject({ signal: signalOption });

/** The latest time of a Date, in milliseconds since 1970. */
const maxInstant = 8.64e15;

function readInstant(value: unknown): number | undefined {
  if (typeof value === 'string') return readDate(value.trim());
  // Not by `instanceof`: test runners have a Date of their own.
  const milliseconds = types.isDate(value) ? value.getTime() : value;
  if (typeof milliseconds !== 'number' || !Number.isFinite(milliseconds)) return undefined;
  // Events have whole milliseconds, and Postgres accepts neither fractions nor larger values. Rounding a fraction up
  // selects the same events, since `since` includes its time and `until` does not.
  return Math.ceil(Math.min(Math.max(milliseconds, -maxInstant), maxInstant));
}

/** Refuses digits without dashes: 20260131 is meant as a date, but would be read as seconds since 1970. */
function readDate(text: string): number | undefined {
  if (!/^\d{4}-/.test(text)) return undefined;
  return parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)?.milliseconds;
}
