import { Allowance } from '../kit/limiters.ts';
import { headOf, sha256 } from '../kit/bytes.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Clock } from '../kit/clock.ts';
import type { Headers } from '../events/model.ts';
import type { Store } from '../store/store.ts';
import type { BoundedReports, Telemetry } from '../receiver/telemetry.ts';
import type { KeptHeaders } from '../signature/headers.ts';

/** How many unauthenticated deliveries are kept: each costs a write. */
const countLimits = { atOnce: 100, perSecond: 10 };
/**
 * How many bytes of large unauthenticated deliveries are kept: events wait while they are written. The platform's own
 * large deliveries come more slowly than that, so all of them can be released after a secret was rotated.
 */
const largeLimits = { atOnce: 8 * 1024 ** 2, perSecond: 1024 ** 2 };
/** A body up to this size is always kept whole: `countLimits` bounds the bytes of these, too. */
const maxSmall = 64 * 1024;
/** How much is kept of any other body: enough for a person to see what it was. */
const headBytes = 4 * 1024;
/** The shortest time between two log lines about dropped deliveries, in milliseconds. */
const dropsReportPeriod = 60_000;

interface UnauthenticatedParts {
  readonly quarantine: Pick<Store['quarantine'], 'keep'>;
  readonly keptHeaders: KeptHeaders;
  readonly failures: Pick<BoundedReports, 'add'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}

/** Keeps unauthenticated deliveries in quarantine: as many as the limits allow, because anybody can send them. */
export class UnauthenticatedDeliveries {
  readonly #parts: UnauthenticatedParts;
  readonly #count: Allowance;
  readonly #largeBytes: Allowance;
  /** How many were dropped since the last one that was kept. Written with the next one, to save a write for each. */
  #skipped = 0;
  #unreported = 0;
  #reportedAt = -Infinity;

  constructor(parts: UnauthenticatedParts) {
    this.#parts = parts;
    this.#count = new Allowance(parts.clock, countLimits);
    this.#largeBytes = new Allowance(parts.clock, largeLimits);
  }

  /**
   * Keeps a delivery, unless too many have come lately. Resolves to its number in quarantine, or undefined if it was
   * not kept.
   */
  async keep(
    bytes: Uint8Array,
    headers: Headers,
    reason: string,
    receivedAt: number,
  ): Promise<number | undefined> {
    if (!this.#count.take(1)) return this.#skip();
    const { quarantine, keptHeaders, failures } = this.#parts;
    const skipped = this.#skipped;
    this.#skipped = 0;
    try {
      const kept = { headers: keptHeaders.of(headers), receivedAt };
      const body = this.#mayKeepWhole(bytes, kept.headers)
        ? { body: bytes }
        : { body: headOf(bytes, headBytes), cutFrom: bytes.byteLength };
      const digest = await sha256(bytes);
      const record = { kind: 'not_authentic', reason, skipped, digest, ...kept, ...body } as const;
      const { id, dropped } = await quarantine.keep(record);
      this.#reportDropped(dropped);
      return id;
    } catch (error) {
      this.#skipped += skipped;
      failures.add({}, { cause: messageOf(error) });
      return undefined;
    }
  }

  /** A delivery without any signature can never be released, so its whole body is not needed. */
  #mayKeepWhole({ byteLength }: Uint8Array, headers: Headers): boolean {
    if (byteLength <= maxSmall) return true;
    return this.#parts.keptHeaders.haveSignature(headers) && this.#largeBytes.take(byteLength);
  }

  #skip(): undefined {
    this.#skipped += 1;
    this.#reportDropped(1);
  }

  #reportDropped(dropped: number): void {
    const { telemetry, clock } = this.#parts;
    this.#unreported += dropped;
    if (this.#unreported === 0 || clock.elapsed() - this.#reportedAt < dropsReportPeriod) return;
    telemetry.report('quarantine_dropped', { count: this.#unreported });
    this.#unreported = 0;
    this.#reportedAt = clock.elapsed();
  }
}
