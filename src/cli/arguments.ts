import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { configError, ringbackError } from '../errors/errors.ts';
import { closest } from '../errors/closest-name.ts';
import { readCauseOf } from '../kit/error-text.ts';
import { headerName, headerValue } from '../kit/header-fields.ts';
import { type SchemeName, knownSchemes } from '../signature/schemes.ts';
import type { Account } from '../operate/audit.ts';
import { asUsage } from './failure.ts';

/** Makes a parser whose usage error says what the argument should be, and which of the `known` names may be meant. */
export function argument<T>(
  expectation: string,
  read: (value: unknown) => T | undefined,
  known: readonly string[] = [],
): (value: string) => T {
  return (value) => {
    const result = read(value);
    if (result !== undefined) return result;
    throw new InvalidArgumentError(`It should be ${expectation}${nearest(value, known)}`);
  };
}

/** The value may be a secret given for the wrong option, so it is quoted only if it resembles a known name. */
function nearest(value: string, known: readonly string[]): string {
  const meant = closest(value, known);
  return meant === undefined ? '.' : `, but is ${JSON.stringify(value)}. Did you mean ${meant}?`;
}

export function oneOf<Name extends string>(names: readonly Name[]): (value: string) => Name {
  return argument(`one of ${names.join(', ')}`, (value) => names.find((name) => name === value), names);
}

export const schemeNames = [...knownSchemes.keys()];

/** The expectation in usage errors; there are too many names to list. */
export const aSchemeName =
  'the name of a signature scheme, such as t-v1-hex-whole (docs/signature.md#schemes has all)';

export const schemeName = argument(aSchemeName, readSchemeName, schemeNames);

export function readSchemeName(value: unknown): SchemeName | undefined {
  return schemeNames.find((name) => name === value);
}

const expectedId = 'the id of a delivery in quarantine, as ringback inbox quarantine prints it';

export const readDeliveryId = argument(expectedId, readId);

export function entryIdArgument(): Argument {
  return new Argument('<id>', 'its number, as `ringback inbox audit` prints it').argParser(
    argument('the id of a replay or a dismissal, as ringback inbox audit prints it', readId),
  );
}

function readId(value: unknown): number | undefined {
  return typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined;
}

export function deliveryIdArgument(): Argument {
  return new Argument('<id>', 'its number, as `ringback inbox quarantine` prints it').argParser(
    readDeliveryId,
  );
}

/** Headers that the HTTP client sets itself, replaces, or refuses to send. */
const ofTheClient =
  /^(?:__proto__|connection|content-length|expect|host|keep-alive|sec-.*|te|trailer|transfer-encoding|upgrade)$/;

/** A repeatable option for headers to send. Of headers with one name, the last is sent. */
export function headerOption(): Option {
  return new Option('--header <header>', 'a header to add or replace, as a proxy would; repeatable')
    .default({}, 'none')
    .argParser((text, earlier: Readonly<Record<string, string>>) =>
      asUsage(() => ({ ...earlier, ...readHeader(text) })),
    );
}

/** @throws ConfigError `option_invalid`, which doesn't quote the value: it may be a credential */
function readHeader(text: string): Readonly<Record<string, string>> {
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0)).toLowerCase();
  const value = text.slice(colon + 1).trim();
  if (!headerName.test(name))
    throw invalid("a name, a colon and a value, such as 'X-Forwarded-Proto: https'", 'something else');
  if (ofTheClient.test(name))
    throw invalid('a header that can be chosen', `${name}, which the HTTP client sets itself`);
  if (!headerValue.test(value))
    throw invalid('a header whose value is ASCII text', `${name} with another value, or none`);
  return { [name]: value };
}

function invalid(expected: string, found: string): Error {
  return configError('option_invalid', { option: '--header', expected, found });
}

export function takesBy(command: Command, description: string): Command {
  return command.option('--by <who>', `${description} (default: the user of the system)`);
}

/** Adds the options that the audit list stores with a change. */
export function takesAccount(command: Command): Command {
  return takesBy(command, 'who does it; stored in the audit list').option(
    '--reason <text>',
    'why; stored in the audit list',
  );
}

export function accountOf({ by, reason }: Account): Account & { readonly by: string } {
  return { by: by ?? systemUser(), reason };
}

/** A container may run as a user that has no name there. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Reads a file that the command line names. @throws RingbackError with that code */
export function readInput(
  file: string,
  code: 'body_unreadable' | 'capture_unreadable' | 'seed_unreadable',
): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw ringbackError(code, { file, cause: readCauseOf(error) });
  }
}
