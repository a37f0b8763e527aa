import { RingbackError, ringbackError } from '../../errors.ts';
import { fingerprint } from '../../signature/secrets.ts';

/**
 * A signing secret that the platform has just issued, and will never show again. Its text is given by `reveal()` only: a
 * result that is logged, printed or sent on as JSON must not take the secret with it.
 *
 * @example const { secret } = await platform.subscriptions.create(wanted); await vault.put(secret?.reveal());
 */
export class IssuedSecret {
  readonly #text: string;
  /** Tells this secret from others, as the receiver's log does: the first eight hex digits of its SHA-256. */
  readonly fingerprint: string;

  /** @internal */
  constructor(text: string) {
    this.#text = text;
    this.fingerprint = fingerprint(text);
  }

  /** The text, which begins with `whsec_`. */
  reveal(): string {
    return this.#text;
  }
}

/** What came with a secret when it was issued. */
export interface IssuedParts {
  readonly secret: string;
  /** Undefined when the platform's answer doesn't say. */
  readonly subscriptionId: string | undefined;
  /** Undefined unless it was rotated. */
  readonly previousSecretExpiresAt: string | undefined;
}

/**
 * The platform has issued a secret, and what was to keep it failed. `error.secret` is the only copy: store it, or rotate
 * the secret once the cause is put right.
 *
 * @example
 * if (error instanceof SecretNotKeptError) await vault.put(error.secret.reveal());
 */
export class SecretNotKeptError extends RingbackError {
  override readonly name = 'SecretNotKeptError';
  /** The secret that was issued. */
  readonly secret: IssuedSecret;
  /** Whose secret it is; undefined when the platform's answer doesn't say. */
  readonly subscriptionId: string | undefined;
  /** Until when deliveries are signed with the secret before it as well, as the platform wrote it; after a rotation. */
  readonly previousSecretExpiresAt: string | undefined;

  /** @internal */
  constructor(cause: string, issued: IssuedParts) {
    // What a keeper throws may quote what it could not store.
    const told = cause.replaceAll(issued.secret, '[hidden]');
    super('secret_not_kept', ringbackError('secret_not_kept', { cause: told }).message);
    this.secret = new IssuedSecret(issued.secret);
    this.subscriptionId = issued.subscriptionId;
    this.previousSecretExpiresAt = issued.previousSecretExpiresAt;
  }
}
