import { Refusal } from '../errors/refusals.ts';
import { Allowance } from '../kit/limiters.ts';
import { headOf, sha256 } from '../kit/bytes.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Reading } from '../events/read-bytes.ts';
import type { Clock } from '../kit/clock.ts';
import type { Tracing } from '../kit/tracing.ts';
import type { CallEvent, Headers } from '../events/model.ts';
import { type EventRecord, recordOf } from '../store/event-record.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** The result of a delivery's durable write. */
export interface Recorded {
  readonly status: 'accepted' | 'duplicate' | 'quarantined';
  readonly traceId: string;
  /** Its number in quarantine. */
  readonly quarantineId?: number;
}

/** An authentic delivery. */
export interface Received {
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Whether the signature covers the trace id in the header. */
  readonly isIdSigned: boolean;
}

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

/** Headers that are kept with the bytes: the platform's own, and the signature. */
const keptHeaders = /^(x-webhook-|webhook-|content-type$|user-agent$)/;

export interface RecorderParts {
  /** Records an event, and runs its handlers if it is new. */
  readonly dispatcher: { recordAndRun(record: EventRecord, event: CallEvent): Promise<'new' | 'duplicate'> };
  /** Observes each duplicate of an event. */
  readonly duplicates: { observe(record: EventRecord): void };
  readonly quarantine: Pick<Store['quarantine'], 'keep'>;
  readonly telemetry: Telemetry;
  readonly tracing: Tracing;
  readonly clock: Clock;
}

/** Writes deliveries to the inbox. */
export class Recorder {
  readonly #parts: RecorderParts;
  readonly #signatureHeaders: readonly string[];
  readonly #credentials: ReadonlyMap<string, string>;
  readonly #count: Allowance;
  readonly #largeBytes: Allowance;
  /** How many were dropped since the last one that was kept. Written with the next one, to save a write for each. */
  #skipped = 0;
  #unreported = 0;
  #reportedAt = -Infinity;

  /** `signatureHeaders` are kept besides the platform's own; `credentials` never are. */
  constructor(
    parts: RecorderParts,
    headers: {
      readonly signatureHeaders: readonly string[];
      readonly credentials: ReadonlyMap<string, string>;
    },
  ) {
    this.#parts = parts;
    this.#count = new Allowance(parts.clock, countLimits);
    this.#largeBytes = new Allowance(parts.clock, largeLimits);
    this.#signatureHeaders = headers.signatureHeaders;
    this.#credentials = headers.credentials;
  }

  /** Writes an authentic delivery. It may be answered with success only when it is on disk. */
  async record(reading: Reading, { bytes, headers, receivedAt, isIdSigned }: Received): Promise<Recorded> {
    const { dispatcher, duplicates, quarantine, telemetry, tracing } = this.#parts;
    // That of the delivery that is being taken replaces the header that came, so that later attempts are linked to it.
    const traceparent = tracing.tracer?.current();
    const own = this.#headersToKeep(headers);
    const kept = {
      headers: traceparent === undefined ? own : { ...own, traceparent },
      body: bytes,
      receivedAt,
    };
    try {
      if (!reading.ok) {
        const { id } = await quarantine.keep({
          kind: 'unreadable',
          reason: reading.reason,
          digest: reading.digest(),
          skipped: 0,
          ...kept,
        });
        return { status: 'quarantined', traceId: `sha256:${reading.digest()}`, quarantineId: id };
      }
      const record = recordOf(reading.event, reading.digest, kept, isIdSigned);
      const status = await dispatcher.recordAndRun(record, reading.event);
      if (status === 'duplicate') duplicates.observe(record);
      return { status: status === 'new' ? 'accepted' : 'duplicate', traceId: reading.event.traceId };
    } catch (error) {
      telemetry.report('delivery_failed', { cause: messageOf(error) });
      throw new Refusal('unavailable', 'not_recorded');
    }
  }

  /**
   * Keeps an unauthenticated delivery in quarantine, unless too many have come lately. Resolves to its number there, or
   * undefined if it was not kept.
   */
  async keepUnauthenticated(
    bytes: Uint8Array,
    headers: Headers,
    reason: string,
    receivedAt: number,
  ): Promise<number | undefined> {
    if (!this.#count.take(1)) return this.#skip();
    const skipped = this.#skipped;
    this.#skipped = 0;
    try {
      const kept = { headers: this.#headersToKeep(headers), receivedAt };
      const body = this.#mayKeepWhole(bytes, kept.headers)
        ? { body: bytes }
        : { body: headOf(bytes, headBytes), cutFrom: bytes.byteLength };
      const digest = await sha256(bytes);
      const record = { kind: 'not_authentic', reason, skipped, digest, ...kept, ...body } as const;
      const { id, dropped } = await this.#parts.quarantine.keep(record);
      this.#reportDropped(dropped);
      return id;
    } catch (error) {
      this.#skipped += skipped;
      this.#parts.telemetry.report('delivery_failed', { cause: messageOf(error) });
      return undefined;
    }
  }

  /** A delivery without any signature can never be released, so its whole body is not needed. */
  #mayKeepWhole({ byteLength }: Uint8Array, headers: Headers): boolean {
    if (byteLength <= maxSmall) return true;
    const carriesSignature = Object.keys(headers).some(
      (name) => name.includes('signature') || this.#signatureHeaders.includes(name),
    );
    return carriesSignature && this.#largeBytes.take(byteLength);
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

  #headersToKeep(headers: Headers): Headers {
    const kept: Record<string, Headers[string]> = {};
    for (const name of Object.keys(headers)) if (this.#isKept(name)) kept[name] = headers[name];
    return kept;
  }

  #isKept(name: string): boolean {
    const isOfUse = keptHeaders.test(name) || this.#signatureHeaders.includes(name);
    return isOfUse && !this.#credentials.has(name);
  }
}
