import { Refusal, refusal } from '../errors/refusals.ts';
import type { Clock } from '../kit/clock.ts';
import type { Headers, Scheme } from '../events/model.ts';
import type { PreparedScheme } from '../signature/content.ts';
import { type SchemeFinding, findScheme } from '../signature/find-scheme.ts';
import { type SchemeName, describeScheme, resolveScheme } from '../signature/schemes.ts';
import type { SignatureReason } from '../signature/match.ts';
import { isSameProof, schemesWithOtherProofs, schemesWithProofOf } from '../signature/proofs.ts';
import type { SecretSource } from '../signature/secret-source.ts';
import type { PreparedSecret } from '../signature/secrets.ts';
import { type Verification, verifySignature } from '../signature/verify.ts';
import type { Store } from '../store/store.ts';
import { recordedInTime } from '../store/timeouts.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** What signatures are checked against. */
export interface AuthenticateParts {
  /** Undefined for an unsigned subscription: `admit` has already checked the headers of its deliveries. */
  readonly secrets: SecretSource | undefined;
  readonly schemes: readonly PreparedScheme[];
  /** Whether the scheme was set as an option, so that none is detected or pinned. */
  readonly isSchemeGiven: boolean;
  readonly tolerance: number;
  readonly store: Pick<Store, 'pinnedScheme' | 'pinScheme'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}

/** The least time between two reads of the pin, in milliseconds, so that a flood of refusals doesn't cost a read each. */
const minPause = 1_000;

/** How a delivery was authenticated. Both fields are undefined for an unsigned subscription. */
export interface Authenticity {
  /** Fingerprint of the secret, for the log. */
  readonly secret: string | undefined;
  /** The scheme in which it verified. */
  readonly scheme: Scheme | undefined;
}

/**
 * Checks the signature over the raw bytes, before anything is parsed or looked up.
 *
 * Unless a scheme was set as an option, the first new event pins its scheme. From then on only schemes with the same
 * proof are accepted (`signature/proofs.ts`). The scheme of the latest new event is tried first.
 */
export class Authenticator {
  readonly #parts: AuthenticateParts;
  #schemes: readonly PreparedScheme[];
  /** The scheme whose proof is required; undefined while none is pinned. */
  #pinned: Scheme | undefined;
  /** The scheme that is pinned in the store, as far as this process knows. */
  #stored: Scheme | undefined;
  #isPinning = false;
  #readAt = -Infinity;

  constructor(parts: AuthenticateParts) {
    this.#parts = parts;
    this.#schemes = parts.schemes;
  }

  /** Loads the secrets, and reads from the store which scheme an earlier event has pinned. */
  async load(): Promise<void> {
    await this.#parts.secrets?.load();
    await this.#readPin();
  }

  /**
   * Returns a promise only if the secrets must be loaded again or the signature doesn't verify.
   *
   * @throws Refusal `not_authentic`, as a rejection
   */
  authenticate(bytes: Uint8Array, headers: Headers): Authenticity | Promise<Authenticity> {
    const { secrets } = this.#parts;
    if (!secrets) return { secret: undefined, scheme: undefined };
    if (!secrets.isStale) return this.#authenticateBy(secrets.current(), bytes, headers, secrets);
    return secrets.confirmed().then((known) => this.#authenticateBy(known, bytes, headers, secrets));
  }

  #authenticateBy(
    known: readonly PreparedSecret[],
    bytes: Uint8Array,
    headers: Headers,
    secrets: SecretSource,
  ): Authenticity | Promise<Authenticity> {
    const verification = this.#verify(bytes, headers, known);
    if (verification.ok) return verification;
    return this.#authenticateRenewed(bytes, headers, secrets, verification.reason);
  }

  /** Checks a delivery again if the secrets have been renewed, or if another process has changed the pin. */
  async #authenticateRenewed(
    bytes: Uint8Array,
    headers: Headers,
    secrets: SecretSource,
    reason: SignatureReason,
  ): Promise<Authenticity> {
    const renewed = reason === 'signature_mismatch' ? await secrets.renewed() : undefined;
    const isPinChanged = await this.#isPinChanged();
    if (!renewed && !isPinChanged) throw this.#notAuthentic(reason);
    const verification = this.#verify(bytes, headers, renewed ?? secrets.current());
    if (!verification.ok) throw this.#notAuthentic(verification.reason);
    return verification;
  }

  /** The pinned scheme, as a value of the option `signature`. */
  get pinned(): string | undefined {
    return this.#pinned && describeScheme(this.#pinned);
  }

  /** The scheme that the option `signature` sets. */
  get given(): string | undefined {
    const { isSchemeGiven, schemes } = this.#parts;
    const [only] = isSchemeGiven ? schemes : [];
    return only && describeScheme(only.scheme);
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
    const verification = this.#verify(bytes, headers, await this.#renew(secrets), receivedAt);
    if (!verification.ok) throw this.#notAuthentic(verification.reason);
    return verification;
  }

  /** Finds the known scheme in which a refused delivery is signed, accepted or not; undefined if no secrets are known. */
  async findScheme(
    bytes: Uint8Array,
    headers: Headers,
    receivedAt: number,
  ): Promise<SchemeFinding | undefined> {
    const { secrets, tolerance } = this.#parts;
    const current = secrets ? await this.#renew(secrets) : [];
    if (current.length === 0) return undefined;
    return findScheme(bytes, headers, current, this.#schemes, { now: receivedAt, tolerance });
  }

  /** The current secrets, asked for again, once the pin has been read again. */
  async #renew(secrets: SecretSource): Promise<readonly PreparedSecret[]> {
    const current = (await secrets.renewed()) ?? secrets.current();
    await this.#readPin();
    return current;
  }

  /**
   * Checks a refused delivery, as of its arrival, against the known schemes with another proof than the scheme in
   * force. Undefined if it verifies in none of them.
   */
  authenticateOtherwise(bytes: Uint8Array, headers: Headers, receivedAt: number): Authenticity | undefined {
    const { secrets, tolerance, isSchemeGiven, schemes } = this.#parts;
    const inForce = isSchemeGiven ? schemes[0]?.scheme : this.#pinned;
    if (!secrets || !inForce) return undefined;
    const timing = { now: receivedAt, tolerance };
    const others = schemesWithOtherProofs(inForce);
    const verification = verifySignature(bytes, headers, secrets.current(), others, timing);
    return verification.ok ? verification : undefined;
  }

  /**
   * Pins the scheme of a NEW event, which must be on disk. A duplicate may be an old delivery that somebody replays,
   * and proves nothing about how the platform signs now. An attacker can also cut up a delivery that was signed in one
   * scheme so that it verifies in another, but what is left as its body is no event.
   *
   * Among the schemes with the pinned proof, the latest new event's is kept: a delivery whose signature an attacker has
   * rewritten decides only until the next event which scheme is tried first, and which option the log names.
   *
   * Never rejects: without a pin every known scheme is accepted, and the next new event pins again.
   */
  async pin({ scheme }: Authenticity): Promise<void> {
    if (scheme === undefined || scheme === this.#stored || this.#parts.isSchemeGiven) return;
    // One write for a burst of first events. If another proof was pinned while this event was being recorded, the event
    // stays valid but doesn't change the pin.
    if (this.#isPinning || (this.#pinned && !isSameProof(this.#pinned, scheme))) return;
    this.#use(scheme);
    await this.#writePin(scheme);
  }

  /** Replaces the pinned scheme by this one, even if its proof differs. Never rejects. */
  async pinInstead({ scheme }: Authenticity): Promise<void> {
    if (scheme !== undefined && !this.#parts.isSchemeGiven) await this.#writePin(scheme);
  }

  /** Writes the pin. The store decides which one counts if another process pins at the same time. */
  async #writePin(scheme: Scheme): Promise<void> {
    const { store, telemetry, clock } = this.#parts;
    this.#isPinning = true;
    try {
      const instead = this.#stored && describeScheme(this.#stored);
      const pinning = store.pinScheme(describeScheme(scheme), instead);
      const pinned = await recordedInTime(clock, pinning);
      this.#learn(pinned);
      telemetry.report('scheme_pinned', { option: `signature: '${pinned}'` });
    } catch {
      // Nothing is lost: the event is on disk, and the next new one pins.
    } finally {
      this.#isPinning = false;
    }
  }

  /** Reads the pin again, unless it was read a moment ago. Resolves to whether it has changed. */
  async #isPinChanged(): Promise<boolean> {
    const { clock } = this.#parts;
    if (clock.elapsed() - this.#readAt < minPause) return false;
    const before = this.#stored;
    // If the store can't be read in time, the known pin stays in force.
    await recordedInTime(clock, this.#readPin()).catch(() => {});
    return this.#stored !== before;
  }

  async #readPin(): Promise<void> {
    const { isSchemeGiven, store, clock } = this.#parts;
    if (isSchemeGiven) return;
    this.#readAt = clock.elapsed();
    const pinned = await store.pinnedScheme();
    // If this process has pinned a scheme that is not in the store yet, keep it.
    if (pinned !== undefined || this.#stored !== undefined) this.#learn(pinned);
  }

  #learn(pinned: string | undefined): void {
    this.#stored = pinned === undefined ? undefined : resolveScheme(pinned as SchemeName, 'signature');
    this.#use(this.#stored);
  }

  /** From now on accepts only schemes with this one's proof; any known scheme if it is undefined. */
  #use(scheme: Scheme | undefined): void {
    if (scheme === this.#pinned) return;
    this.#pinned = scheme;
    this.#schemes = scheme ? schemesWithProofOf(scheme) : this.#parts.schemes;
  }

  #verify(
    bytes: Uint8Array,
    headers: Headers,
    secrets: readonly PreparedSecret[],
    now = this.#parts.clock.now(),
  ): Verification {
    const timing = { now, tolerance: this.#parts.tolerance };
    return verifySignature(bytes, headers, secrets, this.#schemes, timing);
  }

  #notAuthentic(reason: SignatureReason): Refusal {
    return refusal('not_authentic', reason, this.pinned);
  }
}
