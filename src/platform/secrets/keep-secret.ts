import { z } from 'zod';
import { messageOf } from '../../kit/error-text.ts';
import { parseTimestamp } from '../../kit/time.ts';
import { isObject } from '../../option-problems.ts';
import { type CallOptions, aSignal } from '../requests/call-options.ts';
import { IssuedSecret, type IssuedParts, SecretNotKeptError } from './issued-secret.ts';
import { SecretFile } from './secret-file.ts';

/** A secret as it is given to what keeps it. */
export interface SecretToKeep {
  /** The text itself, which begins with `whsec_`. */
  readonly secret: string;
  readonly subscriptionId: string;
  /** Until when deliveries are signed with the secret before it as well, as the platform wrote it; after a rotation. */
  readonly previousSecretExpiresAt: string | undefined;
}

/** Options of what may issue a secret: how it is kept. With neither, it is in the result only. */
export interface SecretOptions extends CallOptions {
  /** Is given the secret, and awaited before the operation resolves. */
  readonly onSecret?: ((issued: SecretToKeep) => void | Promise<void>) | undefined;
  /**
   * A file that gets the secret, in the form that `RINGBACK_SECRETS_FILE` reads: mode 0600, replaced atomically, the new
   * secret first, older ones until they expire. Written before `onSecret` is called.
   */
  readonly secretFile?: string | undefined;
}

/** Checks them. */
export const secretOptionsSchema = z.strictObject({
  signal: aSignal.optional(),
  onSecret: z
    .custom<NonNullable<SecretOptions['onSecret']>>((value) => typeof value === 'function', 'a function')
    .optional(),
  secretFile: z.string('the path of a file').min(1, 'the path of a file').optional(),
});

/** What has come back from an operation that may issue a secret. */
export interface Issuance<Result> {
  readonly result: Result;
  readonly secret: IssuedSecret | undefined;
}

/** An operation that may issue a secret. */
export interface Issuing<Result> {
  /** Undefined when the answer has it, as that of a creation. */
  readonly subscriptionId: string | undefined;
  /** Asks the platform. Whatever it answers is taken: no odd field beside the secret may be a reason to lose it. */
  readonly ask: () => Promise<unknown>;
  /** Reads the answer, from which the secret has been taken out. */
  readonly read: (answer: unknown) => Result;
}

/**
 * Runs an operation that may issue a secret, and keeps it before anything else is looked at.
 *
 * @throws RingbackError `secret_file_unwritable` before the platform is asked; SecretNotKeptError, which has the secret
 */
export async function keepingSecret<Result>(
  { onSecret, secretFile }: Pick<SecretOptions, 'onSecret' | 'secretFile'>,
  now: () => number,
  { subscriptionId, ask, read }: Issuing<Result>,
): Promise<Issuance<Result>> {
  const file = secretFile === undefined ? undefined : new SecretFile(secretFile);
  try {
    const { secret, rest } = takeSecret(await ask());
    if (secret === undefined) return { result: read(rest), secret: undefined };
    const issued = {
      secret,
      subscriptionId: subscriptionId ?? textOf(rest, 'id'),
      previousSecretExpiresAt: textOf(rest, 'previous_secret_expires_at'),
    };
    const isKept = await keep(issued, file, onSecret, now());
    try {
      return { result: read(rest), secret: new IssuedSecret(secret) };
    } catch (error) {
      throw isKept ? error : new SecretNotKeptError(messageOf(error), issued);
    }
  } finally {
    file?.close();
  }
}

/** Resolves to whether anything was there to keep it. */
async function keep(
  issued: IssuedParts,
  file: SecretFile | undefined,
  onSecret: SecretOptions['onSecret'],
  now: number,
): Promise<boolean> {
  const kept = { ...issued, subscriptionId: issued.subscriptionId ?? 'unknown' };
  try {
    file?.write({ ...kept, previousExpiresAt: expiryOf(issued.previousSecretExpiresAt) }, now);
    await onSecret?.(kept);
  } catch (error) {
    throw new SecretNotKeptError(messageOf(error), issued);
  }
  return file !== undefined || onSecret !== undefined;
}

/** Texts that the user chose, whatever they begin with. */
const ownTexts = new Set(['name', 'description', 'url']);

/**
 * Takes the secret out of an answer, so that it is in nothing that is passed on. The name of its field is not in the
 * platform's document: `secret` is known, and a text that begins with `whsec_` is one by whatever name.
 */
function takeSecret(answer: unknown): { secret: string | undefined; rest: unknown } {
  if (!isObject(answer)) return { secret: undefined, rest: answer };
  const isSecret = ([name, value]: readonly [string, unknown]): boolean =>
    typeof value === 'string' &&
    value !== '' &&
    (name === 'secret' || (value.startsWith('whsec_') && !ownTexts.has(name)));
  const entries = Object.entries(answer);
  const [, secret] = entries.find(isSecret) ?? [];
  const rest = Object.fromEntries(entries.filter((entry) => !isSecret(entry)));
  return { secret: typeof secret === 'string' ? secret : undefined, rest };
}

function textOf(answer: unknown, field: string): string | undefined {
  const value = isObject(answer) ? answer[field] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function expiryOf(text: string | undefined): number | undefined {
  const instant = parseTimestamp(text);
  return instant === undefined ? undefined : Number(instant / 1_000_000n);
}
