import { Refusal } from '../refusals.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Reading } from '../events/read-bytes.ts';
import type { Clock } from '../kit/clock.ts';
import type { Headers } from '../model.ts';
import { recordOf } from '../store/event-record.ts';
import type { ClaimedEvent } from '../store/claims.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry.ts';

/** What the one durable write decided. */
export interface Recorded {
  readonly status: 'accepted' | 'duplicate' | 'quarantined';
  readonly traceId: string;
  /** Under which number it is in quarantine. */
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

/** How many strangers' deliveries are kept per second, after a first `strangersAtOnce`: each costs a write. */
const strangersPerSecond = 10;
const strangersAtOnce = 100;
/** The shortest time between two log lines about dropped strangers' deliveries, in milliseconds. */
const dropsTold = 60_000;

/** Headers that are kept with the bytes: what the platform says about an event, and the signature. */
const keptHeaders = /^(x-webhook-|webhook-|content-type$|user-agent$)/;
/** For how many header names the decision is remembered: the platform sends few; a stranger's must not fill memory. */
const mostDecided = 100;

/** Writes deliveries to the inbox. */
export class Recorder {
  readonly #store: Pick<Store, 'record' | 'quarantine'>;
  readonly #telemetry: Telemetry;
  readonly #clock: Clock;
  readonly #isKept: (header: string) => boolean;
  #allowance = strangersAtOnce;
  #allowanceAt = 0;
  /** How many were dropped since the last one kept; written with the next one kept, to save a write for each. */
  #skipped = 0;
  #untold = 0;
  #toldAt = -Infinity;

  /** `signatureHeaders` are kept besides the platform's own; `credentials` never are. */
  constructor(
    store: Pick<Store, 'record' | 'quarantine'>,
    telemetry: Telemetry,
    clock: Clock,
    headers: {
      readonly signatureHeaders: readonly string[];
      readonly credentials: ReadonlyMap<string, string>;
    },
  ) {
    this.#store = store;
    this.#telemetry = telemetry;
    this.#clock = clock;
    const decide = (name: string) =>
      (keptHeaders.test(name) || headers.signatureHeaders.includes(name)) && !headers.credentials.has(name);
    const decided = new Map<string, boolean>();
    this.#isKept = (name) => {
      const isKept = decided.get(name) ?? decide(name);
      if (decided.size < mostDecided) decided.set(name, isKept);
      return isKept;
    };
  }

  /**
   * The one durable write of an authentic delivery. Only when it is on disk may the answer be a success. `handOver`
   * gets the event if the same write claimed it.
   */
  async record(
    reading: Reading,
    { bytes, headers, receivedAt, isIdSigned }: Received,
    handOver: ((claimed: ClaimedEvent) => void) | undefined,
  ): Promise<Recorded> {
    const kept = { headers: this.#keep(headers), body: bytes, receivedAt };
    try {
      if (!reading.ok) {
        const { id } = await this.#store.quarantine.keep({
          kind: 'unreadable',
          reason: reading.reason,
          digest: reading.digest(),
          skipped: 0,
          ...kept,
        });
        return { status: 'quarantined', traceId: `sha256:${reading.digest()}`, quarantineId: id };
      }
      const record = recordOf(reading.event, reading.digest, kept, isIdSigned);
      const status = await this.#store.record(record, handOver);
      return { status: status === 'new' ? 'accepted' : 'duplicate', traceId: reading.event.traceId };
    } catch (error) {
      this.#telemetry.tell('delivery_failed', { cause: messageOf(error) });
      throw new Refusal('unavailable', 'not_recorded');
    }
  }

  /**
   * Keeps a delivery that is not authentic in quarantine, unless strangers have caused too many writes lately. Resolves
   * to its number there; undefined if it was not kept.
   */
  async keepStranger(
    bytes: Uint8Array,
    headers: Headers,
    reason: string,
    receivedAt: number,
    digest: string,
  ): Promise<number | undefined> {
    if (!this.#mayKeepStranger()) return this.#skip();
    const skipped = this.#skipped;
    this.#skipped = 0;
    try {
      const kept = { headers: this.#keep(headers), body: bytes, receivedAt };
      const record = { kind: 'not_authentic', reason, digest, skipped, ...kept } as const;
      const { id, dropped } = await this.#store.quarantine.keep(record);
      this.#tellDropped(dropped);
      return id;
    } catch (error) {
      this.#skipped += skipped;
      this.#telemetry.tell('delivery_failed', { cause: messageOf(error) });
      return undefined;
    }
  }

  #skip(): undefined {
    this.#skipped += 1;
    this.#tellDropped(1);
  }

  #tellDropped(dropped: number): void {
    this.#untold += dropped;
    if (this.#untold === 0 || this.#clock.elapsed() - this.#toldAt < dropsTold) return;
    this.#telemetry.tell('quarantine_dropped', { count: this.#untold });
    this.#untold = 0;
    this.#toldAt = this.#clock.elapsed();
  }

  #mayKeepStranger(): boolean {
    const now = this.#clock.elapsed();
    const earned = ((now - this.#allowanceAt) / 1_000) * strangersPerSecond;
    this.#allowance = Math.min(strangersAtOnce, this.#allowance + earned);
    this.#allowanceAt = now;
    if (this.#allowance < 1) return false;
    this.#allowance -= 1;
    return true;
  }

  #keep(headers: Headers): Headers {
    const kept: Record<string, Headers[string]> = {};
    for (const name of Object.keys(headers)) if (this.#isKept(name)) kept[name] = headers[name];
    return kept;
  }
}
