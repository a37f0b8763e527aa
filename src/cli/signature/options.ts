import { Option } from 'commander';
import { configError } from '../../errors/errors.ts';
import type { Layout } from '../../events/model.ts';
import type { LayoutName } from '../../signature/layouts.ts';
import { argument } from '../argument.ts';
import { type Environment, readEnvironment } from '../environment.ts';
import { layoutNames } from '../layout-name.ts';
import { hasSecrets, secretsOf } from '../secrets.ts';

/** The flags of the command line for the options of `sign` and `verify`. */
export const flagsOfOptions = {
  layout: '--layout',
  signature: '--layout',
  timestamp: '--timestamp',
  traceId: '--trace-id',
} as const;

/** `--secret-file`, for the commands that need the secret. */
export function secretFileOption(): Option {
  return new Option(
    '--secret-file <file>',
    'the signing secrets, one a line (default: RINGBACK_SECRETS_FILE or RINGBACK_SECRETS)',
  );
}

/** `--layout`, which takes the value that `signature detect` prints after `signature:`. */
export function layoutOption(description: string): Option {
  const expectation = `one of ${layoutNames.join(', ')}, or a layout as JSON`;
  return new Option('--layout <layout>', description).argParser(argument(expectation, readLayout));
}

/**
 * The secrets of a file, or of the environment.
 *
 * @throws ConfigError when there are none, or the file can't be read
 */
export function secretsFrom(file: string | undefined): readonly string[] {
  const secrets = secretsOf(file === undefined ? environmentWithSecrets() : { RINGBACK_SECRETS_FILE: file });
  return typeof secrets === 'function' ? secrets() : secrets;
}

function environmentWithSecrets(): Environment {
  const environment = readEnvironment();
  if (!hasSecrets(environment)) throw configError('secrets_missing', { fileOption: '--secret-file' });
  return environment;
}

/** The name of a known layout, or a layout in full, which is checked when it is used. */
function readLayout(value: unknown): LayoutName | Layout | undefined {
  const name = layoutNames.find((known) => known === value);
  if (name !== undefined || typeof value !== 'string') return name;
  try {
    const layout: unknown = JSON.parse(value);
    return typeof layout === 'object' && layout !== null ? (layout as Layout) : undefined;
  } catch {
    return undefined;
  }
}
