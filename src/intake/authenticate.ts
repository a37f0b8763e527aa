import { Refusal, refusal } from '../refusals.ts';
import type { Clock } from '../kit/clock.ts';
import type { Headers, Layout } from '../model.ts';
import type { PreparedLayout } from '../signature/content.ts';
import { describeLayout, resolveLayouts, type SignatureOption } from '../signature/layouts.ts';
import type { SignatureReason } from '../signature/match.ts';
import type { SecretSource } from '../signature/secret-source.ts';
import type { PreparedSecret } from '../signature/secrets.ts';
import { type Verification, verifySignature } from '../signature/verify.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry.ts';

/** What signatures are checked against. */
export interface AuthenticateParts {
  /** Undefined for an unsigned subscription, whose deliveries `admit` has already recognised by their headers. */
  readonly secrets: SecretSource | undefined;
  readonly layouts: readonly PreparedLayout[];
  /** Whether the layout was set as an option, so that none is searched for or pinned. */
  readonly isLayoutGiven: boolean;
  readonly tolerance: number;
  readonly store: Pick<Store, 'pinnedLayout' | 'pinLayout'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}

/** How a delivery was found to be authentic. Both fields are undefined for an unsigned subscription. */
export interface Proof {
  /** Fingerprint of the secret, for the log. */
  readonly secret: string | undefined;
  readonly layout: Layout | undefined;
}

/** Checks the signature over the raw bytes, before anything is parsed or looked up. */
export class Authenticator {
  readonly #parts: AuthenticateParts;
  #layouts: readonly PreparedLayout[];
  /** The layout that an earlier delivery has pinned. */
  #pinned: string | undefined;
  /** The write that pins the layout, while it is under way. */
  #pinning: Promise<string> | undefined;

  constructor(parts: AuthenticateParts) {
    this.#parts = parts;
    this.#layouts = parts.layouts;
  }

  /** Asks for the secrets, and reads from the store which layout an earlier delivery has pinned. */
  async load(): Promise<void> {
    await this.#parts.secrets?.load();
    const pinned = this.#parts.isLayoutGiven ? undefined : await this.#parts.store.pinnedLayout();
    if (pinned !== undefined) this.#use(pinned);
  }

  /**
   * Returns at once, unless the secrets have to be asked for again.
   *
   * @throws Refusal `not_authentic`, or rejects with it
   */
  authenticate(bytes: Uint8Array, headers: Headers): Proof | Promise<Proof> {
    const { secrets } = this.#parts;
    if (!secrets) return { secret: undefined, layout: undefined };
    if (!secrets.isStale) return this.#authenticateBy(secrets.current(), bytes, headers, secrets);
    return secrets.confirmed().then((known) => this.#authenticateBy(known, bytes, headers, secrets));
  }

  #authenticateBy(
    known: readonly PreparedSecret[],
    bytes: Uint8Array,
    headers: Headers,
    secrets: SecretSource,
  ): Proof | Promise<Proof> {
    const verification = this.#verify(bytes, headers, known);
    if (verification.ok) return verification;
    if (verification.reason !== 'signature_mismatch') throw this.#notAuthentic(verification.reason);
    return this.#authenticateRenewed(bytes, headers, secrets);
  }

  async #authenticateRenewed(bytes: Uint8Array, headers: Headers, secrets: SecretSource): Promise<Proof> {
    const renewed = await secrets.renewed();
    const verification = renewed && this.#verify(bytes, headers, renewed);
    if (!verification?.ok) throw this.#notAuthentic(verification?.reason ?? 'signature_mismatch');
    return verification;
  }

  /** Whether the layout is known, so that there is nothing to pin. */
  get isPinned(): boolean {
    return this.#parts.isLayoutGiven || this.hasPinned;
  }

  /** Whether a delivery has verified before, in this process or an earlier one, and pinned its layout. */
  get hasPinned(): boolean {
    return this.#pinned !== undefined;
  }

  /**
   * Checks a delivery that was refused against the present secrets and layouts, as of its arrival. Without secrets it
   * refuses every delivery: one that was refused while secrets were set may be a stranger's.
   *
   * @throws Refusal `not_authentic`
   */
  async authenticateAgain(bytes: Uint8Array, headers: Headers, receivedAt: number): Promise<Proof> {
    const { secrets } = this.#parts;
    if (!secrets) throw new Refusal('not_authentic', 'secrets_not_set');
    const current = (await secrets.renewed()) ?? secrets.current();
    const verification = this.#verify(bytes, headers, current, receivedAt);
    if (!verification.ok) throw this.#notAuthentic(verification.reason);
    return verification;
  }

  /**
   * Pins the layout of a delivery that has been read as an event. Not earlier: an attacker can cut up a delivery that
   * was signed in one layout so that it verifies in another, but what is then left as its body is no event.
   *
   * @throws Refusal `not_authentic` when another process has pinned another layout meanwhile
   */
  async pin({ layout }: Proof): Promise<void> {
    if (this.isPinned || !layout) return;
    const found = describeLayout(layout);
    const pinned = await this.#pinOnce(found).catch(() => {
      throw new Refusal('unavailable', 'layout_not_pinned');
    });
    if (!this.hasPinned) {
      this.#use(pinned);
      this.#parts.telemetry.tell('layout_pinned', { option: `signature: ${quote(pinned)}` });
    }
    if (pinned !== found) throw this.#notAuthentic('signature_mismatch');
  }

  /**
   * A burst of first deliveries waits for one write, of whichever layout came first: were each to pin for itself, some
   * would wait for too long.
   */
  #pinOnce(found: string): Promise<string> {
    this.#pinning ??= this.#parts.store.pinLayout(found).finally(() => {
      this.#pinning = undefined;
    });
    return this.#pinning;
  }

  #verify(
    bytes: Uint8Array,
    headers: Headers,
    secrets: readonly PreparedSecret[],
    now = this.#parts.clock.now(),
  ): Verification {
    const timing = { now, tolerance: this.#parts.tolerance };
    return verifySignature(bytes, headers, secrets, this.#layouts, timing);
  }

  #notAuthentic(reason: SignatureReason): Refusal {
    return refusal('not_authentic', reason, this.#pinned);
  }

  #use(description: string): void {
    const option = description.startsWith('{') ? JSON.parse(description) : description;
    this.#layouts = resolveLayouts(option as SignatureOption);
    this.#pinned = description;
  }
}

function quote(description: string): string {
  return description.startsWith('{') ? description : `'${description}'`;
}
