import { headerOf } from '../events/ids.ts';
import type { Headers } from '../model.ts';
import { carriesSignature } from '../signature/detect.ts';
import type { SignatureReason } from '../signature/match.ts';
import type { Telemetry } from '../telemetry.ts';

/** A streak of this length is hardly a stranger's attempt, but is shorter than two deliveries with their retries. */
const longStreak = 5;

/** Why a signature made with another secret, or in another layout, is refused. */
const suspicious: ReadonlySet<string> = new Set<SignatureReason>([
  'signature_mismatch',
  'signature_missing',
  'signature_malformed',
  'timestamp_missing',
]);

/**
 * Notices that the platform's own deliveries no longer verify: if a secret was rotated at the platform and not here, or
 * the platform signs in another layout than the one that is pinned, every event is refused until somebody notices.
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
    // After the alarm nothing is left to find out, and a stranger's flood must not cost what looking for it does.
    if (!wasRight || this.#streak === longStreak || !suspicious.has(reason) || !looksGenuine(headers)) return;
    this.#streak += 1;
    if (this.#streak === longStreak) this.#telemetry.tell('secret_rotation_suspected', { count: longStreak });
  }
}

/** Whether the platform's own headers are there, and a signature of whatever layout. */
function looksGenuine(headers: Headers): boolean {
  const isNamed = ['x-webhook-event', 'x-webhook-traceid'].every(
    (name) => (headerOf(headers, name) ?? '') !== '',
  );
  return isNamed && carriesSignature(headers);
}
