import { headerOf } from '../events/ids.ts';
import type { Headers } from '../model.ts';
import type { Telemetry } from '../telemetry.ts';

/** So many in a row are no stranger's try any more, and still less than two deliveries with their retries. */
const longStreak = 5;

/**
 * Notices that the platform's own deliveries no longer verify: a secret that was rotated at the platform and
 * not here loses every event until somebody sees it.
 */
export class RotationWatch {
  readonly #telemetry: Telemetry;
  readonly #hasPinned: () => boolean;
  #hasVerified = false;
  #streak = 0;

  /** `hasPinned` says whether a delivery has verified before this start. */
  constructor(telemetry: Telemetry, hasPinned: () => boolean) {
    this.#telemetry = telemetry;
    this.#hasPinned = hasPinned;
  }

  verified(): void {
    this.#hasVerified = true;
    this.#streak = 0;
  }

  /** One line a streak: only the refusal that makes it long tells. */
  refused(reason: string, headers: Headers): void {
    const wasRight = this.#hasVerified || this.#hasPinned();
    if (!wasRight || reason !== 'signature_mismatch' || !looksGenuine(headers)) return;
    this.#streak += 1;
    if (this.#streak === longStreak) this.#telemetry.tell('secret_rotation_suspected', { count: longStreak });
  }
}

/** The reason has said already that the signature is written in a known form. */
function looksGenuine(headers: Headers): boolean {
  return ['x-webhook-event', 'x-webhook-traceid'].every((name) => (headerOf(headers, name) ?? '') !== '');
}
