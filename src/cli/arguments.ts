import { Argument, InvalidArgumentError, Option } from 'commander';
import { configError } from '../errors/errors.ts';
import { headerName, headerValue } from '../kit/header-fields.ts';
import { type SchemeName, knownSchemes } from '../signature/schemes.ts';
import { asUsage } from './failure.ts';

/** Makes a parser of an argument, whose usage error says what the argument should be. */
export function argument<T>(
  expectation: string,
  read: (value: unknown) => T | undefined,
): (value: string) => T {
  return (value) => {
    const result = read(value);
    if (result === undefined) throw new InvalidArgumentError(`It should be ${expectation}.`);
    return result;
  };
}

/** The names of the known schemes. */
export const schemeNames = [...knownSchemes.keys()];

/** The name of a known scheme, as the argument of an option. */
export const schemeName = argument(`one of ${schemeNames.join(', ')}`, readSchemeName);

function readSchemeName(value: unknown): SchemeName | undefined {
  return schemeNames.find((name) => name === value);
}

/** What the id of a delivery in quarantine should be, in the words of an error. */
const expectedId = 'the id of a delivery in quarantine, as ringback inbox quarantine prints it';

/** Reads an id, or says in a usage error what it should be. */
export const readDeliveryId = argument(expectedId, (value) =>
  typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined,
);

/** The argument for the id of a delivery in quarantine. */
export function deliveryIdArgument(): Argument {
  return new Argument('<id>', 'its number, as `ringback inbox quarantine` prints it').argParser(
    readDeliveryId,
  );
}

/** What the HTTP client sets itself, replaces, or refuses to send. */
const ofTheClient =
  /^(?:__proto__|connection|content-length|expect|host|keep-alive|sec-.*|te|trailer|transfer-encoding|upgrade)$/;

/** An option that can be given several times, each with a header to send. Of headers with one name, the last is sent. */
export function headerOption(): Option {
  return new Option(
    '--header <header>',
    'a header to add or to replace, such as a proxy adds (several times)',
  )
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
