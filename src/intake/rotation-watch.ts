import type { Headers, Scheme } from '../events/model.ts';
import { headerOf } from '../events/names.ts';
import type { Clock } from '../kit/clock.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { carriesSignature } from '../signature/detect.ts';
import { describeScheme } from '../signature/schemes.ts';
import type { SignatureReason } from '../signature/verify.ts';

/** Too long for most unauthenticated senders, but shorter than two deliveries with their retries. */
const longStreak = 5;
/** The shortest time between two lines, in milliseconds: anybody can send a streak after each genuine delivery. */
const reportPeriod = 60_000;

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
  readonly #clock: Clock;
  #hasVerified = false;
  #hasVerifiedSince = false;
  #streak = 0;
  /** The scheme in which a delivery of this streak verifies with the present secrets. */
  #otherScheme: Scheme | undefined;
  #reportedAt = -Infinity;
  /** Whether this streak has been reported. */
  #isReported = false;

  /** `pinned` returns the pinned scheme, which may have been pinned before this start. */
  constructor(telemetry: Telemetry, pinned: () => string | undefined, clock: Clock) {
    this.#telemetry = telemetry;
    this.#pinned = pinned;
    this.#clock = clock;
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
    this.#isReported = false;
    this.#otherScheme = undefined;
  }

  /**
   * Logs one line per streak, once it is long, and at most one a minute. `otherScheme` finds a scheme, not the one in
   * force, in which the delivery verifies.
   */
  refused(reason: string, headers: Headers, otherScheme: () => Scheme | undefined): void {
    const wasRight = this.#hasVerified || this.#pinned() !== undefined;
    // After the alarm there is nothing left to find out.
    if (!wasRight || this.#isReported || !suspicious.has(reason) || !looksGenuine(headers)) return;
    // A flood of forgeries must not cost a search each.
    if (this.#streak < longStreak) {
      this.#streak += 1;
      this.#otherScheme ??= otherScheme();
    }
    const now = this.#clock.elapsed();
    if (this.#streak < longStreak || now - this.#reportedAt < reportPeriod) return;
    this.#reportedAt = now;
    this.#isReported = true;
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
