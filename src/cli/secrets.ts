import { configError } from '../errors/errors.ts';
import { readSecretFile } from '../platform/secrets/secret-file.ts';
import type { Environment } from './environment.ts';

/**
 * The secrets that the environment sets: a list, or a function that reads them from their file. The receiver calls a
 * function again after half a minute and whenever a signature doesn't verify, so a changed file takes effect without a
 * restart.
 *
 * @throws ConfigError when none are set, both ways are used, or the file can't be read or contains a malformed secret
 */
export function secretsOf({ RINGBACK_SECRETS: list, RINGBACK_SECRETS_FILE: file }: Environment) {
  if (list !== undefined && file !== undefined) {
    throw configError('option_invalid', {
      option: 'RINGBACK_SECRETS_FILE',
      expected: 'the only source of secrets',
      found: 'set beside RINGBACK_SECRETS',
      fix: 'Unset one of the two.',
    });
  }
  if (list !== undefined) return parseSecrets(list);
  if (file === undefined) throw configError('secrets_missing');
  // Read once now, so that a problem with the file is reported before anything is opened.
  readSecretFile(file);
  return () => readSecretFile(file);
}

/** The same, as they are now. */
export function currentSecrets(environment: Environment): readonly string[] {
  const secrets = secretsOf(environment);
  return typeof secrets === 'function' ? secrets() : secrets;
}

export function hasSecrets(environment: Environment): boolean {
  return environment.RINGBACK_SECRETS !== undefined || environment.RINGBACK_SECRETS_FILE !== undefined;
}

/** The secrets of a comma-separated list. An empty list is one empty secret, which the receiver refuses. */
function parseSecrets(list: string): readonly string[] {
  const secrets = list
    .split(',')
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '');
  return secrets.length > 0 ? secrets : [''];
}
