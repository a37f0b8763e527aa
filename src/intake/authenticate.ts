import { Refusal, refusal } from '../errors/refusals.ts';
import type { Clock } from '../kit/clock.ts';
import type { Headers, Scheme } from '../events/model.ts';
import { headerOf } from '../events/names.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { carriesSignature } from '../signature/detect.ts';
import { type SchemeFinding, findScheme } from '../signature/find-scheme.ts';
import { schemesWithOtherProofs } from '../signature/proofs.ts';
import { describeScheme } from '../signature/schemes.ts';
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
  authenticateOtherwise(bytes: Uint8Array, headers: Headers, receivedAt: number): Authenticity | undefined {
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

/** Too long for most unauthenticated senders, but shorter than two deliveries with their retries. */
const longStreak = 5;

/** The reasons for which a signature with another secret, or in another scheme, is refused. */
const suspicious: ReadonlySet<string> = new Set<SignatureReason>([
  'signature_mismatch',
  'signature_missing',
  'signature_malformed',
  'timestamp_missing',
]);

/**
 * Detects that the platform's own deliveries no longer verify. If a secret was rotated at the platform and not here, or
 * the platform signs in another scheme than the pinned one, every event is refused until somebody notices.
 */
export class RotationWatch {
  readonly #telemetry: Telemetry;
  readonly #pinned: () => string | undefined;
  #hasVerified = false;
  #hasVerifiedSince = false;
  #streak = 0;
  /** The scheme in which a delivery of this streak verifies with the present secrets. */
  #otherScheme: Scheme | undefined;

  /** `pinned` returns the pinned scheme, which may have been pinned before this start. */
  constructor(telemetry: Telemetry, pinned: () => string | undefined) {
    this.#telemetry = telemetry;
    this.#pinned = pinned;
  }

  /**
   * Whether the platform's deliveries seem to be refused. Undefined if that isn't known: none has verified since the
   * last call, and another process may know more.
   */
  takeSuspicion(): boolean | undefined {
    const hasVerifiedSince = this.#hasVerifiedSince;
    this.#hasVerifiedSince = false;
    if (this.#streak === longStreak) return true;
    return hasVerifiedSince ? false : undefined;
  }

  verified(): void {
    this.#hasVerified = true;
    this.#hasVerifiedSince = true;
    this.#streak = 0;
    this.#otherScheme = undefined;
  }

  /**
   * Logs one line per streak, at the refusal that makes it long. `otherScheme` finds a scheme, not the one in force, in
   * which the delivery verifies.
   */
  refused(reason: string, headers: Headers, otherScheme: () => Scheme | undefined): void {
    const wasRight = this.#hasVerified || this.#pinned() !== undefined;
    // After the alarm there is nothing left to find out, and a flood of forgeries must not cost a search each.
    if (!wasRight || this.#streak === longStreak || !suspicious.has(reason) || !looksGenuine(headers)) return;
    this.#streak += 1;
    this.#otherScheme ??= otherScheme();
    if (this.#streak < longStreak) return;
    this.#telemetry.report('secret_rotation_suspected', { count: longStreak, fix: this.#fix() });
  }

  #fix(): string {
    if (this.#otherScheme === undefined) return secretFix;
    const found = describeScheme(this.#otherScheme);
    const pinned = this.#pinned();
    return pinned === undefined ? optionFix(found) : pinFix(found, pinned);
  }
}

const secretFix =
  'Has the secret been rotated? Then add the new one. If not, find out with ringback signature detect --quarantine ' +
  '<id> how they are signed.';

function pinFix(found: string, pinned: string): string {
  return (
    `The secret is right, but they are signed in the scheme ${found}, and ${pinned} is pinned. Reverifying moves the pin ` +
    'as soon as two different events are in quarantine; otherwise remove it with ringback signature unpin --yes.'
  );
}

function optionFix(found: string): string {
  return (
    `The secret is right, but they are signed in the scheme ${found}, and the option signature names another: set ` +
    `signature: '${found}'.`
  );
}

/** Whether the delivery has the platform's own headers and a signature in any scheme. */
function looksGenuine(headers: Headers): boolean {
  const isNamed = ['x-webhook-event', 'x-webhook-traceid'].every(
    (name) => (headerOf(headers, name) ?? '') !== '',
  );
  return isNamed && carriesSignature(headers);
}
