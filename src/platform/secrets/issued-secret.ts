import { RingbackError, ringbackError } from '../../errors/errors.ts';
import { fingerprint } from '../../signature/secrets.ts';

/**
 * A signing secret that the platform has just issued and never shows again. Only `reveal()` returns its text, so that
 * logging, printing or serializing a result doesn't expose it.
 *
 * @example const { secret } = await platform.subscriptions.create(wanted); await vault.put(secret?.reveal());
 */
export class IssuedSecret {
  readonly #text: string;
  /** Identifies this secret, as in the receiver's log: the first eight hex digits of its SHA-256. */
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

/** An issued secret, and what the platform's answer says about it. */
export interface IssuedParts {
  readonly secret: string;
  /** Undefined when the platform's answer doesn't say. */
  readonly subscriptionId: string | undefined;
  /** Undefined unless it was rotated. */
  readonly previousSecretExpiresAt: string | undefined;
}

/**
 * The platform has issued a secret, but storing it failed. `error.secret` is the only copy: store it, or rotate the
 * secret once the cause is fixed.
 *
 * @example
 * if (error instanceof SecretNotKeptError) await vault.put(error.secret.reveal());
 */
export class SecretNotKeptError extends RingbackError {
  override readonly name = 'SecretNotKeptError';
  /** The issued secret. */
  readonly secret: IssuedSecret;
  /** The subscription of the secret; undefined when the platform's answer doesn't say. */
  readonly subscriptionId: string | undefined;
  /** After a rotation: until when deliveries are also signed with the previous secret, in the platform's notation. */
  readonly previousSecretExpiresAt: string | undefined;

  /** @internal */
  constructor(cause: string, issued: IssuedParts) {
    // The error of `onSecret` or of the file may quote the secret.
    const safeCause = cause.replaceAll(issued.secret, '[hidden]').replace(/\.$/, '');
    super('secret_not_kept', ringbackError('secret_not_kept', { cause: safeCause }).message);
    this.secret = new IssuedSecret(issued.secret);
    this.subscriptionId = issued.subscriptionId;
    this.previousSecretExpiresAt = issued.previousSecretExpiresAt;
  }
}
