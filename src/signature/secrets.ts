import { createHash, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { configError } from '../errors/errors.ts';
import type { Scheme } from '../events/model.ts';

const prefix = 'whsec_';

/** A secret's keys and fingerprint. Neither shows the secret's text, so logging it by mistake reveals nothing. */
export interface PreparedSecret {
  /** Identifies this secret in logs and metrics. */
  readonly fingerprint: string;
  /** The key of each kind. If the suffix isn't base64, `suffix-base64` is undefined. */
  readonly keys: Readonly<Record<Scheme['key'], KeyObject | undefined>>;
}

/** Which secret an error is about. */
interface SecretPlace {
  /** From 1. */
  readonly position: number;
  /** Where the secrets were read from, if from a file. */
  readonly file: string | undefined;
}

/** One signing secret, or several: any of them may have signed. */
export type Secrets = string | readonly string[];

/**
 * Checks secrets and derives their keys, once, so that no delivery pays for it. Repeated secrets count once. The error
 * about a malformed secret names `file`, where the secrets were read from.
 *
 * @throws ConfigError `secret_malformed`, which names the secret by its position (from 1), never by its text;
 * `option_invalid` when the list is empty.
 */
export function prepareSecrets(secrets: Secrets, file?: string): readonly PreparedSecret[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length === 0) {
    throw configError('option_invalid', {
      option: 'secrets',
      expected: 'a signing secret or a list of them',
      found: 'an empty list',
    });
  }
  const checked = list.map((secret, index) => checkSecret(secret, { position: index + 1, file }));
  return [...new Set(checked)].map(prepareSecret);
}

/** The first eight hex digits of the secret's SHA-256: enough to tell secrets apart, too few to find one. */
export function fingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 8);
}

function checkSecret(secret: unknown, place: SecretPlace): string {
  if (typeof secret !== 'string') {
    const found = `is ${secret === null ? 'null' : `of type ${typeof secret}`}`;
    throw configError('secret_malformed', { ...place, found });
  }
  const wrong = whatIsWrongWith(secret);
  if (wrong !== undefined) throw configError('secret_malformed', { ...place, ...wrong });
  return secret;
}

/** What was found, and what to do if the fix is not to copy the whole secret. */
interface Malformed {
  readonly found: string;
  readonly fix?: string;
}

function whatIsWrongWith(text: string): Malformed | undefined {
  const secret = text.trim();
  if (secret === '') return { found: 'is empty' };
  // Not every reader of env files takes the quotes off.
  if (/^["'`]/.test(secret))
    return { found: 'begins with a quotation mark', fix: 'Remove the quotation marks.' };
  if (!secret.startsWith(prefix)) return { found: `does not start with ${prefix}` };
  if (secret === prefix) return { found: `has nothing after ${prefix}` };
  // The line break of a file or a shell would become part of the key, and no delivery would ever verify.
  if (secret !== text)
    return { found: 'has a blank or a line break around it', fix: 'Remove that, for example with trim().' };
  // Two secrets of a rotation in one text would become one key, and no delivery would ever verify.
  if (secret.includes(prefix, prefix.length))
    return {
      found: 'contains another secret',
      fix: 'Pass several secrets as a list, one secret in each item.',
    };
  // For example a comment after the secret, in a file of secrets.
  if (/\s/.test(secret)) return { found: 'has a blank or a line break in it' };
  return undefined;
}

function prepareSecret(secret: string): PreparedSecret {
  const suffix = secret.slice(prefix.length);
  return {
    fingerprint: fingerprint(secret),
    keys: {
      whole: keyOf(Buffer.from(secret)),
      suffix: keyOf(Buffer.from(suffix)),
      'suffix-base64': keyOf(fromBase64(suffix)),
    },
  };
}

/** Makes no key from zero bytes: anybody can sign with an empty key. */
function keyOf(bytes: Buffer | undefined): KeyObject | undefined {
  return bytes === undefined || bytes.byteLength === 0 ? undefined : createSecretKey(bytes);
}

/** Decodes base64 strictly. Node decodes what it can of any text, and a key from half of a secret would be weaker. */
function fromBase64(text: string): Buffer | undefined {
  const unpadded = text.replace(/={1,2}$/, '');
  const padding = text.length - unpadded.length;
  if (!/^[A-Za-z0-9+/]+$/.test(unpadded) || unpadded.length % 4 === 1) return undefined;
  if (padding > 0 && text.length % 4 !== 0) return undefined;
  return Buffer.from(unpadded, 'base64');
}
