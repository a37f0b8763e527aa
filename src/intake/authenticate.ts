import { Refusal, refusal } from '../errors/refusals.ts';
import type { Clock } from '../kit/clock.ts';
import type { Headers, Scheme } from '../events/model.ts';
import { type SchemeFinding, findScheme } from '../signature/find-scheme.ts';
import { schemesWithOtherProofs } from '../signature/proofs.ts';
import type { SecretSource } from '../signature/secret-source.ts';
import type { PreparedSecret } from '../signature/secrets.ts';
import { type SignatureReason, type Verification, verifySignature } from '../signature/verify.ts';
import type { AcceptedSchemes } from './accepted-schemes.ts';

/** What signatures are checked against. */
interface AuthenticateParts {
  /** Undefined for an unsigned subscription: `admit` has already checked the headers of its deliveries. */
  readonly secrets: SecretSource | undefined;
  readonly schemes: AcceptedSchemes;
  readonly tolerance: number;
  readonly clock: Clock;
}

/** How a delivery was authenticated. Both fields are undefined for an unsigned subscription. */
interface Authenticity {
  /** Fingerprint of the secret, for the log. */
  readonly secret: string | undefined;
  /** The scheme in which it verified. */
  readonly scheme: Scheme | undefined;
}

/** Checks the signature over the raw bytes, before anything is parsed or looked up. */
export class Authenticator {
  readonly #parts: AuthenticateParts;

  constructor(parts: AuthenticateParts) {
    this.#parts = parts;
  }

  /** Loads the secrets and the pin. */
  async load(): Promise<void> {
    const { secrets, schemes } = this.#parts;
    await secrets?.load();
    await schemes.readPin();
  }

  /**
   * Returns a promise only if the secrets must be loaded again or the signature doesn't verify.
   *
   * @throws Refusal `not_authentic`, as a rejection
   */
  authenticate(bytes: Uint8Array, headers: Headers): Authenticity | Promise<Authenticity> {
    const { secrets } = this.#parts;
    if (!secrets) return { secret: undefined, scheme: undefined };
    const trusted = secrets.trusted();
    const first = trusted && this.#verify(bytes, headers, trusted);
    return first?.ok ? first : this.#authenticateRenewed(bytes, headers, secrets, first);
  }

  /**
   * Checks a delivery with confirmed secrets, if it was not verified yet. If it doesn't verify, it is checked again if
   * the secrets have been renewed, or if another process has changed the pin.
   */
  async #authenticateRenewed(
    bytes: Uint8Array,
    headers: Headers,
    secrets: SecretSource,
    first: Verification | undefined,
  ): Promise<Authenticity> {
    const verification = first ?? this.#verify(bytes, headers, await secrets.confirmed());
    if (verification.ok) return verification;
    const { reason } = verification;
    const renewed = reason === 'signature_mismatch' ? await secrets.renewed() : undefined;
    const isPinChanged = await this.#parts.schemes.isPinChanged();
    if (!renewed && !isPinChanged) throw this.#notAuthentic(reason);
    return this.#requireVerified(this.#verify(bytes, headers, renewed ?? secrets.current()));
  }

  /**
   * Checks a refused delivery against the current secrets and schemes, as of its arrival. Without secrets it refuses
   * every delivery: one that was refused while secrets were set may come from anybody.
   *
   * @throws Refusal `not_authentic`
   */
  async authenticateAgain(bytes: Uint8Array, headers: Headers, receivedAt: number): Promise<Authenticity> {
    const { secrets } = this.#parts;
    if (!secrets) throw new Refusal('not_authentic', 'secrets_not_set');
    return this.#requireVerified(this.#verify(bytes, headers, await this.#renew(secrets), receivedAt));
  }

  /** Finds the known scheme in which a refused delivery is signed, accepted or not; undefined if no secrets are known. */
  async findScheme(
    bytes: Uint8Array,
    headers: Headers,
    receivedAt: number,
  ): Promise<SchemeFinding | undefined> {
    const { secrets, schemes, tolerance } = this.#parts;
    const current = secrets ? await this.#renew(secrets) : [];
    if (current.length === 0) return undefined;
    return findScheme(bytes, headers, current, schemes.accepted, { now: receivedAt, tolerance });
  }

  /** The current secrets, asked for again, once the pin has been read again. */
  async #renew(secrets: SecretSource): Promise<readonly PreparedSecret[]> {
    const current = (await secrets.renewed()) ?? secrets.current();
    await this.#parts.schemes.readPin();
    return current;
  }

  /**
   * Checks a refused delivery, as of its arrival, against the known schemes with another proof than the scheme in
   * force. Undefined if it verifies in none of them.
   */
  authenticateInOtherScheme(
    bytes: Uint8Array,
    headers: Headers,
    receivedAt: number,
  ): Authenticity | undefined {
    const { secrets, schemes, tolerance } = this.#parts;
    if (!secrets || !schemes.inForce) return undefined;
    const timing = { now: receivedAt, tolerance };
    const others = schemesWithOtherProofs(schemes.inForce);
    const verification = verifySignature(bytes, headers, secrets.current(), others, timing);
    return verification.ok ? verification : undefined;
  }

  #verify(
    bytes: Uint8Array,
    headers: Headers,
    secrets: readonly PreparedSecret[],
    now = this.#parts.clock.now(),
  ): Verification {
    const { schemes, tolerance } = this.#parts;
    return verifySignature(bytes, headers, secrets, schemes.accepted, { now, tolerance });
  }

  #requireVerified(verification: Verification): Authenticity {
    if (!verification.ok) throw this.#notAuthentic(verification.reason);
    return verification;
  }

  #notAuthentic(reason: SignatureReason): Refusal {
    return refusal('not_authentic', reason, this.#parts.schemes.pinned);
  }
}
