import { headerOf } from '../events/ids.ts';
import type { Headers } from '../model.ts';
import type { Telemetry } from '../telemetry.ts';

/** A streak of this length is hardly a stranger's attempt, but is shorter than two deliveries with their retries. */
const longStreak = 5;

/**
 * Notices that the platform's own deliveries no longer verify: if a secret was rotated at the platform and not here,
 * every event is refused until somebody notices.
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

  /** Logs one line per streak, at the refusal that makes it long. */
  refused(reason: string, headers: Headers): void {
    const wasRight = this.#hasVerified || this.#hasPinned();
    if (!wasRight || reason !== 'signature_mismatch' || !looksGenuine(headers)) return;
    this.#streak += 1;
    if (this.#streak === longStreak) this.#telemetry.tell('secret_rotation_suspected', { count: longStreak });
  }
}

/** Whether the platform's own headers are there. The reason already says that the signature has a known form. */
function looksGenuine(headers: Headers): boolean {
  return ['x-webhook-event', 'x-webhook-traceid'].every((name) => (headerOf(headers, name) ?? '') !== '');
}
