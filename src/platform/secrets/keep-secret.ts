import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { signalOption } from '../../errors/option-problems.ts';
import { messageOf } from '../../kit/error-text.ts';
import { parseInstant } from '../../kit/time.ts';
import { isObject } from '../../kit/values.ts';
import type { CallOptions } from '../requests/call-options.ts';
import type { AnsweredBody } from '../requests/request.ts';
import { IssuedSecret, type IssuedParts, SecretNotKeptError } from './issued-secret.ts';
import { SecretFile } from './secret-file.ts';
import { unnamedSubscription } from './secret-lines.ts';

/** A secret as `onSecret` gets it. */
export interface SecretToKeep {
  /** The text itself, which begins with `whsec_`. */
  readonly secret: string;
  readonly subscriptionId: string;
  /** After a rotation: until when deliveries are also signed with the previous secret, in the platform's notation. */
  readonly previousSecretExpiresAt: string | undefined;
}

/** Where an operation stores a secret that it may issue. With neither option, the secret is only in the result. */
export interface SecretOptions extends CallOptions {
  /** Called with the secret, and awaited before the operation resolves. */
  readonly onSecret?: ((issued: SecretToKeep) => void | Promise<void>) | undefined;
  /**
   * A file to store the secret in, in the form of `RINGBACK_SECRETS_FILE`: mode 0600, replaced atomically, the new
   * secret first, older ones until they expire. Written before `onSecret` is called, which is called even if writing
   * fails.
   */
  readonly secretFile?: string | undefined;
}

export const secretOptionsSchema = z.strictObject({
  signal: signalOption,
  onSecret: z
    .custom<NonNullable<SecretOptions['onSecret']>>((value) => typeof value === 'function', 'a function')
    .optional(),
  secretFile: z.string('the path of a file').min(1, 'the path of a file').optional(),
});

interface Issuance<Result> {
  readonly result: Result;
  readonly status: number;
  readonly secret: IssuedSecret | undefined;
}

interface Issuing<Result> {
  /** Undefined for a creation: the id is in the answer. */
  readonly subscriptionId: string | undefined;
  /** Called before `onSecret`, which may wait for another operation on the same subscription. */
  readonly release?: (() => void) | undefined;
  /** Sends the request. Accepts any answer: an unexpected field must not lose the secret beside it. */
  readonly ask: () => Promise<AnsweredBody>;
  /** Reads the answer without its secret. */
  readonly read: (answer: AnsweredBody, isIssued: boolean) => Result;
}

/**
 * Runs an operation that may issue a secret, and stores the secret before it reads the rest of the answer.
 *
 * @throws RingbackError `secret_file_unwritable` before the platform is asked; SecretNotKeptError, which has the secret
 */
export async function keepingSecret<Result>(
  { onSecret, secretFile, signal }: SecretOptions,
  clock: Clock,
  { subscriptionId, release, ask, read }: Issuing<Result>,
): Promise<Issuance<Result>> {
  const file = secretFile === undefined ? undefined : await SecretFile.open(secretFile, clock, signal);
  try {
    const { status, body } = await ask();
    const { secret, rest } = takeSecret(body);
    const answer = { status, body: rest };
    if (secret === undefined) return { result: read(answer, false), status, secret: undefined };
    const issued = {
      secret,
      subscriptionId: subscriptionId ?? textOf(rest, 'id'),
      previousSecretExpiresAt: textOf(rest, 'previous_secret_expires_at'),
    };
    const isKept = await keep(issued, { file, release, onSecret }, clock.now());
    try {
      return { result: read(answer, true), status, secret: new IssuedSecret(secret) };
    } catch (error) {
      throw isKept ? error : new SecretNotKeptError(messageOf(error), issued);
    }
  } finally {
    file?.close();
  }
}

/** Where a secret is stored, in this order. */
interface Keepers extends Pick<SecretOptions, 'onSecret'>, Pick<Issuing<unknown>, 'release'> {
  readonly file: SecretFile | undefined;
}

/** Stores the secret in each place even if another one failed. Resolves to whether there was any. */
async function keep(
  issued: IssuedParts,
  { file, release, onSecret }: Keepers,
  now: number,
): Promise<boolean> {
  const kept = { ...issued, subscriptionId: issued.subscriptionId ?? unnamedSubscription };
  const failures: string[] = [];
  const store = async (work: () => void | Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failures.push(messageOf(error));
    }
  };
  const previousExpiresAt = parseInstant(issued.previousSecretExpiresAt)?.milliseconds;
  await store(() => file?.write({ ...kept, previousExpiresAt }, now));
  release?.();
  await store(() => onSecret?.(kept));
  if (failures.length > 0) throw new SecretNotKeptError(failures.join('; '), issued);
  return file !== undefined || onSecret !== undefined;
}

/** Texts chosen by the user are never the secret, even if they begin with `whsec_`. */
const ownTexts = new Set(['name', 'description', 'url']);

/**
 * Takes the secret out of an answer, so that nothing else contains it. The platform's document doesn't name its field:
 * it is a field `secret`, or a text in any other field that begins with `whsec_`. Of several, `secret` takes
 * precedence, and the previous secret of a rotation comes last.
 */
function takeSecret(answer: unknown): { secret: string | undefined; rest: unknown } {
  if (!isObject(answer)) return { secret: undefined, rest: answer };
  const isSecret = ([name, value]: readonly [string, unknown]): boolean =>
    typeof value === 'string' &&
    value !== '' &&
    (name === 'secret' || (value.startsWith('whsec_') && !ownTexts.has(name)));
  const entries = Object.entries(answer);
  const [[, secret] = []] = entries.filter(isSecret).toSorted(([a], [b]) => rankOf(a) - rankOf(b));
  const rest = Object.fromEntries(entries.filter((entry) => !isSecret(entry)));
  return { secret: typeof secret === 'string' ? secret : undefined, rest };
}

function rankOf(name: string): number {
  if (name === 'secret') return 0;
  return /previous|old/i.test(name) ? 2 : 1;
}

function textOf(answer: unknown, field: string): string | undefined {
  const value = isObject(answer) ? answer[field] : undefined;
  return typeof value === 'string' ? value : undefined;
}
