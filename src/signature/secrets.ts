import { createHash } from 'node:crypto';
import { configError } from '../errors.ts';
import type { Layout } from '../model.ts';
import { HmacKey } from './hmac.ts';

const prefix = 'whsec_';

/** A secret made ready for use. Its text is not in it: what is logged by mistake tells nothing. */
export interface PreparedSecret {
  /** Tells this secret from the others, in logs and metrics. */
  readonly fingerprint: string;
  /** The key for each kind of layout; a suffix that isn't base64 has none of that kind. */
  readonly keys: Readonly<Record<Layout['key'], HmacKey | undefined>>;
}

/** Which secret a sentence is about. */
interface SecretPlace {
  /** From 1. */
  readonly position: number;
  /** Where the secrets were read from, if from a file. */
  readonly file: string | undefined;
}

/** One signing secret, or several: any of them may have signed. */
export type Secrets = string | readonly string[];

/**
 * Checks secrets and derives their keys, once, so that no delivery pays for it. Repeated secrets count once. `file` is where
 * they were read from, for the sentence about a malformed one.
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
  const found = whatIsWrongWith(secret);
  if (found !== undefined) throw configError('secret_malformed', { ...place, found });
  return secret;
}

function whatIsWrongWith(secret: string): string | undefined {
  if (secret.trim() === '') return 'is empty';
  if (!secret.startsWith(prefix)) return `does not start with ${prefix}`;
  if (secret.trim() === prefix) return `has nothing after ${prefix}`;
  // The line break of a file or a shell would become part of the key, and no delivery would ever verify.
  if (secret !== secret.trimEnd()) return 'ends with a blank or a line break';
  // As one key they would verify nothing: several, as a rotation has them, are given as a list.
  if (secret.includes(prefix, prefix.length))
    return 'holds another one, and several should be given as a list';
  // A comment behind it, as a file of secrets may have.
  if (/\s/.test(secret)) return 'has a blank or a line break in it';
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

/** No key from no bytes: anybody can sign with an empty key. */
function keyOf(bytes: Buffer | undefined): HmacKey | undefined {
  return bytes === undefined || bytes.byteLength === 0 ? undefined : new HmacKey(bytes);
}

/** Node decodes whatever it is given; a key made from half of a text would be a weaker one. */
function fromBase64(text: string): Buffer | undefined {
  const unpadded = text.replace(/={1,2}$/, '');
  const padding = text.length - unpadded.length;
  if (!/^[A-Za-z0-9+/]+$/.test(unpadded) || unpadded.length % 4 === 1) return undefined;
  if (padding > 0 && text.length % 4 !== 0) return undefined;
  return Buffer.from(unpadded, 'base64');
}
