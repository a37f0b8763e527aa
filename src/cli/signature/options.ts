import { Option } from 'commander';
import { configError } from '../../errors/errors.ts';
import type { Scheme } from '../../events/model.ts';
import { jsonIn } from '../../kit/http-bodies.ts';
import type { SchemeName } from '../../signature/schemes.ts';
import { aSchemeName, argument, readSchemeName, schemeNames } from '../arguments.ts';
import { type Environment, readEnvironment } from '../environment.ts';
import { currentSecrets, hasSecrets } from '../secrets.ts';

export const flagsOfOptions = {
  scheme: '--scheme',
  signature: '--scheme',
  timestamp: '--timestamp',
  traceId: '--trace-id',
} as const;

/** `--secret-file`, for the commands that need the secret. */
export function secretFileOption(): Option {
  return new Option(
    '--secret-file <file>',
    'the signing secrets, one per line (default: RINGBACK_SECRETS_FILE or RINGBACK_SECRETS)',
  );
}

/** `--scheme`, which takes the value that `signature detect` prints after `signature:`. */
export function schemeOption(description: string): Option {
  const expectation = `${aSchemeName}, or a scheme as JSON`;
  return new Option('--scheme <scheme>', description).argParser(
    argument(expectation, readScheme, schemeNames),
  );
}

/** The secrets of a file, or of the environment. @throws ConfigError when there are none, or the file can't be read */
export function secretsFrom(file: string | undefined): readonly string[] {
  return currentSecrets(file === undefined ? environmentWithSecrets() : { RINGBACK_SECRETS_FILE: file });
}

function environmentWithSecrets(): Environment {
  const environment = readEnvironment();
  if (!hasSecrets(environment)) throw configError('secrets_missing', { fileOption: '--secret-file' });
  return environment;
}

/** The name of a known scheme, or a scheme in full, which is checked when it is used. */
function readScheme(value: unknown): SchemeName | Scheme | undefined {
  const name = readSchemeName(value);
  if (name !== undefined || typeof value !== 'string') return name;
  const scheme = jsonIn(value);
  return typeof scheme === 'object' && scheme !== null ? (scheme as Scheme) : undefined;
}
