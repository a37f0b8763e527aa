import { statSync } from 'node:fs';
import { messageOf } from '../../kit/error-text.ts';
import { fingerprint, prepareSecrets } from '../../signature/secrets.ts';
import type { Environment } from '../environment.ts';
import { currentSecrets, hasSecrets } from '../secrets.ts';
import { type Finding, finding, warning, wrong } from './findings.ts';

/** Whether the signing secrets can be read and are well-formed. */
export function checkSecrets(environment: Environment): Finding {
  if (!hasSecrets(environment)) {
    const hint =
      'run the doctor with the environment of the receiver, unless your app gives it the secret itself.';
    return warning('secret', `neither RINGBACK_SECRETS nor RINGBACK_SECRETS_FILE is set: ${hint}`);
  }
  try {
    const secrets = currentSecrets(environment);
    prepareSecrets(secrets);
    return finding('secret', ...judged(secrets, environment.RINGBACK_SECRETS_FILE));
  } catch (error) {
    return wrong('secret', messageOf(error));
  }
}

function judged(secrets: readonly string[], file: string | undefined): ['ok' | 'warning', string] {
  const which = `${secrets.length === 1 ? 'one secret' : `${secrets.length} secrets`}, ${secrets.map(fingerprint).join(' and ')}`;
  const isOpen = file !== undefined && process.platform !== 'win32' && (statSync(file).mode & 0o007) !== 0;
  return isOpen
    ? ['warning', `${which}; but anybody on this machine can read ${file}: chmod 600 it.`]
    : ['ok', which];
}
