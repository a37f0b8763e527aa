import type { Clock } from '../kit/clock.ts';
import type { Scheme } from '../events/model.ts';
import type { PreparedScheme } from '../signature/content.ts';
import { isSameProof, schemesWithProofOf } from '../signature/proofs.ts';
import { type SchemeName, describeScheme, resolveScheme } from '../signature/schemes.ts';
import type { Store } from '../store/store.ts';
import { recordedInTime } from '../store/timeouts.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

interface AcceptedSchemesParts {
  /** The one that was set as an option, or all known ones. */
  readonly schemes: readonly PreparedScheme[];
  /** Whether a scheme was set as an option, so that none is detected or pinned. */
  readonly isSchemeGiven: boolean;
  readonly store: Pick<Store, 'pinnedScheme' | 'pinScheme'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}

/** The least time between two reads of the pin, in milliseconds, so that a flood of refusals doesn't cost a read each. */
const minPause = 1_000;

/**
 * The schemes in which deliveries may be signed.
 *
 * Unless a scheme was set as an option, the first new event pins its scheme. From then on only schemes with the same
 * proof are accepted (`signature/proofs.ts`). The scheme of the latest new event is tried first.
 */
export class AcceptedSchemes {
  /** In the order in which they are tried. */
  accepted: readonly PreparedScheme[];
  readonly #parts: AcceptedSchemesParts;
  /** The scheme whose proof is required; undefined while none is pinned. */
  #pinned: Scheme | undefined;
  /** The scheme that is pinned in the store, as far as this process knows. */
  #stored: Scheme | undefined;
  #isPinning = false;
  #readAt = -Infinity;

  constructor(parts: AcceptedSchemesParts) {
    this.#parts = parts;
    this.accepted = parts.schemes;
  }

  /** The scheme whose proof counts; undefined while every known one is accepted. */
  get inForce(): Scheme | undefined {
    const { isSchemeGiven, schemes } = this.#parts;
    return isSchemeGiven ? schemes[0]?.scheme : this.#pinned;
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
   * Pins the scheme of a NEW event, which must be on disk. A duplicate may be an old delivery that somebody replays,
   * and proves nothing about how the platform signs now. An attacker can also cut up a delivery that was signed in one
   * scheme so that it verifies in another, but what is left as its body is no event.
   *
   * Among the schemes with the pinned proof, the latest new event's is kept: a delivery whose signature an attacker has
   * rewritten decides only until the next event which scheme is tried first, and which option the log names.
   *
   * Returns a promise only if there is something to write. That never rejects: without a pin every known scheme is
   * accepted, and the next new event pins again.
   *
   * @param scheme undefined for an unsigned subscription
   */
  pin(scheme: Scheme | undefined): Promise<void> | undefined {
    if (scheme === undefined || scheme === this.#stored || this.#parts.isSchemeGiven) return undefined;
    // One write for a burst of first events. If another proof was pinned while this event was being recorded, the event
    // stays valid but doesn't change the pin.
    if (this.#isPinning || (this.#pinned && !isSameProof(this.#pinned, scheme))) return undefined;
    this.#use(scheme);
    return this.#write(scheme);
  }

  /** Replaces the pinned scheme by this one, even if its proof differs. Never rejects. */
  async pinInstead(scheme: Scheme | undefined): Promise<void> {
    if (scheme !== undefined && !this.#parts.isSchemeGiven) await this.#write(scheme);
  }

  /** Writes the pin. The store decides which one counts if another process pins at the same time. */
  async #write(scheme: Scheme): Promise<void> {
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

  /** Reads from the store which scheme an event has pinned: an earlier one, or another process's. */
  async readPin(): Promise<void> {
    const { isSchemeGiven, store, clock } = this.#parts;
    if (isSchemeGiven) return;
    this.#readAt = clock.elapsed();
    const pinned = await store.pinnedScheme();
    // If this process has pinned a scheme that is not in the store yet, keep it.
    if (pinned !== undefined || this.#stored !== undefined) this.#learn(pinned);
  }

  /** Reads the pin again, unless it was read a moment ago. Resolves to whether it has changed. */
  async isPinChanged(): Promise<boolean> {
    const { clock } = this.#parts;
    if (clock.elapsed() - this.#readAt < minPause) return false;
    const before = this.#stored;
    // If the store can't be read in time, the known pin stays in force.
    await recordedInTime(clock, this.readPin()).catch(() => {});
    return this.#stored !== before;
  }

  #learn(pinned: string | undefined): void {
    this.#stored = pinned === undefined ? undefined : resolveScheme(pinned as SchemeName, 'signature');
    this.#use(this.#stored);
  }

  /** From now on accepts only schemes with this one's proof; any known scheme if it is undefined. */
  #use(scheme: Scheme | undefined): void {
    if (scheme === this.#pinned) return;
    this.#pinned = scheme;
    this.accepted = scheme ? schemesWithProofOf(scheme) : this.#parts.schemes;
  }
}
