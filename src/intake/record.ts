import { Refusal, messageOf } from '../errors.ts';
import { factsOf } from '../calls/timeline.ts';
import type { Reading } from '../events/read-bytes.ts';
import type { Clock } from '../kit/clock.ts';
import type { CallEvent, Headers } from '../model.ts';
import type { EventRecord, Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry.ts';

/** What the one durable write decided. */
export interface Recorded {
  readonly status: 'accepted' | 'duplicate' | 'quarantined';
  readonly traceId: string;
}

/** Strangers' deliveries that are kept a second, after a first `strangersAtOnce`: each costs a write. */
const strangersPerSecond = 10;
const strangersAtOnce = 100;

/** Headers that are kept with the bytes: what the platform says of an event, and how it signed. */
const keptHeaders = /^(x-webhook-|webhook-|content-type$|user-agent$)/;

/** Writes deliveries to the inbox. */
export class Recorder {
  readonly #store: Pick<Store, 'record' | 'quarantine'>;
  readonly #telemetry: Telemetry;
  readonly #clock: Clock;
  readonly #isKept: (header: string) => boolean;
  #allowance = strangersAtOnce;
  #allowanceAt = 0;

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
    this.#isKept = (name) =>
      (keptHeaders.test(name) || headers.signatureHeaders.includes(name)) && !headers.credentials.has(name);
  }

  /** The one durable write of an authentic delivery. Only when it is on disk may the sender hear of success. */
  async record(reading: Reading, bytes: Uint8Array, headers: Headers, receivedAt: number): Promise<Recorded> {
    const kept = { headers: this.#keep(headers), body: bytes, receivedAt };
    try {
      if (!reading.ok) {
        await this.#store.quarantine({
          kind: 'unreadable',
          reason: reading.reason,
          digest: reading.digest,
          ...kept,
        });
        return { status: 'quarantined', traceId: `sha256:${reading.digest}` };
      }
      const status = await this.#store.record({ ...recordOf(reading.event, reading.digest), ...kept });
      return { status: status === 'new' ? 'accepted' : 'duplicate', traceId: reading.event.traceId };
    } catch (error) {
      this.#telemetry.tell('delivery_failed', { cause: messageOf(error) });
      throw new Refusal('unavailable', 'not_recorded');
    }
  }

  /** Keeps a delivery that is not authentic, as far as a stranger may take our disk. */
  async keepStranger(
    bytes: Uint8Array,
    headers: Headers,
    reason: string,
    receivedAt: number,
    digest: string,
  ) {
    if (!this.#mayKeepStranger()) return;
    try {
      const kept = { headers: this.#keep(headers), body: bytes, receivedAt };
      await this.#store.quarantine({ kind: 'not_authentic', reason, digest, ...kept });
    } catch (error) {
      this.#telemetry.tell('delivery_failed', { cause: messageOf(error) });
    }
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
    return Object.fromEntries(Object.entries(headers).filter(([name]) => this.#isKept(name)));
  }
}

function recordOf(event: CallEvent, digest: string): Omit<EventRecord, 'headers' | 'body' | 'receivedAt'> {
  return {
    traceId: event.traceId,
    identities: identitiesOf(event, digest),
    eventName: event.eventName,
    callId: event.callId,
    organizationId: event.organizationId,
    occurredAt: event.occurredAt.getTime(),
    facts: factsOf(event),
  };
}

/**
 * What a copy of this event would be recognized by. A trace id from the header is not signed, so the signed
 * bytes count as well: else anyone who saw a delivery could send it again under another id.
 */
function identitiesOf({ traceId, traceIdSource }: CallEvent, digest: string): string[] {
  if (traceIdSource === 'body') return [`body:${traceId}`];
  if (traceIdSource === 'header') return [`sha256:${digest}`, `header:${traceId}`];
  return [`sha256:${digest}`];
}
