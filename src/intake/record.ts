import { hash } from 'node:crypto';
import { Refusal } from '../errors/refusals.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Reading } from '../events/read-event.ts';
import type { Tracing } from '../kit/tracing.ts';
import type { CallEvent, Headers } from '../events/model.ts';
import { type EventRecord, recordOf } from '../store/event-record.ts';
import type { Store } from '../store/store.ts';
import type { BoundedReports } from '../receiver/telemetry.ts';
import type { KeptHeaders } from '../signature/headers.ts';

/** The result of a delivery's durable write. */
export interface RecordedDelivery {
  readonly status: 'accepted' | 'duplicate' | 'quarantined';
  readonly traceId: string;
  /** Its number in quarantine. */
  readonly quarantineId?: number;
}

/** An authentic delivery. */
interface Received {
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Whether the signature covers the trace id in the header. */
  readonly isIdSigned: boolean;
}

interface RecorderParts {
  /** Records an event, and runs its handlers if it is new. */
  readonly dispatcher: { recordAndRun(record: EventRecord, event: CallEvent): Promise<'new' | 'duplicate'> };
  /** Observes each duplicate of an event. */
  readonly duplicates: { observe(record: EventRecord): void };
  readonly quarantine: Pick<Store['quarantine'], 'keep'>;
  readonly keptHeaders: KeptHeaders;
  readonly failures: Pick<BoundedReports, 'add'>;
  readonly tracing: Tracing;
}

/** Writes authentic deliveries to the inbox. */
export class Recorder {
  readonly #parts: RecorderParts;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** Writes a delivery. It may be answered with success only when it is on disk. */
  async record(reading: Reading, received: Received): Promise<RecordedDelivery> {
    const { bytes, headers, receivedAt, isIdSigned } = received;
    const { dispatcher, duplicates, quarantine, keptHeaders, failures, tracing } = this.#parts;
    // The current span's replaces the header that came, so that later attempts are linked to this delivery.
    const traceparent = tracing.tracer?.current();
    const ownHeaders = keptHeaders.of(headers);
    const kept = {
      headers: traceparent === undefined ? ownHeaders : { ...ownHeaders, traceparent },
      body: bytes,
      receivedAt,
    };
    try {
      if (!reading.ok) {
        const { reason } = reading;
        const digest = hash('sha256', bytes, 'hex');
        const { id } = await quarantine.keep({ kind: 'unreadable', reason, digest, skipped: 0, ...kept });
        return { status: 'quarantined', traceId: `sha256:${digest}`, quarantineId: id };
      }
      const record = recordOf(reading.event, kept, isIdSigned);
      const status = await dispatcher.recordAndRun(record, reading.event);
      if (status === 'duplicate') duplicates.observe(record);
      return { status: status === 'new' ? 'accepted' : 'duplicate', traceId: reading.event.traceId };
    } catch (error) {
      failures.add({}, { cause: messageOf(error) });
      throw new Refusal('unavailable', 'not_recorded');
    }
  }
}
