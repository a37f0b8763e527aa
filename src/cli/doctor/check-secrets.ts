import { statSync } from 'node:fs';
import { messageOf } from '../../kit/error-text.ts';
import { fingerprint, prepareSecrets } from '../../signature/secrets.ts';
import type { Environment } from '../environment.ts';
import { hasSecrets, secretsOf } from '../secrets.ts';
import { type Finding, finding } from './finding.ts';

const check = 'secret';

/** Whether the signing secrets can be read, and have the form of secrets. */
export function checkSecrets(environment: Environment): Finding {
  if (!hasSecrets(environment)) {
    const hint =
      'run the doctor with the environment of the receiver, unless your app gives it the secret itself.';
    return finding(check, 'warning', `neither RINGBACK_SECRETS nor RINGBACK_SECRETS_FILE is set: ${hint}`);
  }
  try {
    const given = secretsOf(environment);
    const secrets = typeof given === 'function' ? given() : given;
    prepareSecrets(secrets);
    return finding(check, ...judged(secrets, environment.RINGBACK_SECRETS_FILE));
  } catch (error) {
    return finding(check, 'wrong', messageOf(error));
  }
}

function judged(secrets: readonly string[], file: string | undefined): ['ok' | 'warning', string] {
  const told = `${secrets.length === 1 ? 'one secret' : `${secrets.length} secrets`}, ${secrets.map(fingerprint).join(' and ')}`;
  const isOpen = file !== undefined && process.platform !== 'win32' && (statSync(file).mode & 0o007) !== 0;
  return isOpen
    ? ['warning', `${told}; but anybody on this machine can read ${file}: chmod 600 it.`]
    : ['ok', told];
}
