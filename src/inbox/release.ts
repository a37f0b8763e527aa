import { Refusal } from '../refusals.ts';
import type { BodyDecoder } from '../events/body-decoder.ts';
import { readBytes } from '../events/read-bytes.ts';
import type { CallEvent, Headers } from '../model.ts';
import { recordOf } from '../store/event-record.ts';
import type { KeptDelivery, QuarantineStore } from '../store/quarantine-store.ts';
import type { Telemetry } from '../telemetry.ts';

/** What became of a released delivery: a new event, or a copy of one that is stored already. */
export interface Released {
  readonly status: 'accepted' | 'duplicate';
  readonly traceId: string;
}

/** What releasing works with. */
export interface ReleaseParts {
  readonly store: QuarantineStore;
  readonly decoder: BodyDecoder;
  readonly telemetry: Telemetry;
  /**
   * Checks a delivery against the present secrets and layouts, as of its arrival. Resolves to a function that pins the
   * layout, to be called once the delivery has been read as an event. Both reject with the Refusal `not_authentic`.
   */
  readonly authenticate: (
    body: Uint8Array,
    headers: Headers,
    receivedAt: number,
  ) => Promise<() => Promise<void>>;
  /** Called when a released event is on disk. */
  readonly onReleased: (event: CallEvent, receivedAt: number) => void;
}

/** How the try to release one delivery ended. */
type Attempt =
  | Released
  | { readonly status: 'unknown' }
  | { readonly status: 'not_authentic'; readonly reason: string; readonly fix: string | undefined }
  | { readonly status: 'unreadable'; readonly reason: string };

/** Releases deliveries from quarantine, through the same stages as a delivery that arrives. */
export class Release {
  readonly #parts: ReleaseParts;

  constructor(parts: ReleaseParts) {
    this.#parts = parts;
  }

  /** Tries to release one delivery; if it can't be released, it stays in quarantine. */
  async attempt(id: number): Promise<Attempt> {
    const { store } = this.#parts;
    const kept = await store.get(id);
    if (!kept) return { status: 'unknown' };
    try {
      return await this.#releaseAuthentic(kept);
    } catch (problem) {
      if (!(problem instanceof Refusal && problem.code === 'not_authentic')) throw problem;
      return { status: 'not_authentic', reason: problem.reason, fix: problem.fix };
    }
  }

  /** The same stages in the same order as a delivery that arrives: authenticate, decode, record. */
  async #releaseAuthentic(kept: KeptDelivery): Promise<Attempt> {
    const { store, decoder, telemetry, onReleased, authenticate } = this.#parts;
    const { id, kind, body, headers, receivedAt } = kept;
    const confirm = kind === 'not_authentic' ? await authenticate(body, headers, receivedAt) : undefined;
    const reading = await readBytes(decoder, kept);
    if (!reading.ok) {
      // The delivery is the platform's, so the bounds for strangers' deliveries no longer apply to it.
      if (kind === 'not_authentic') await store.markUnreadable(id, reading.reason);
      return { status: 'unreadable', reason: reading.reason };
    }
    await confirm?.();
    const { event, digest } = reading;
    const recorded = await store.release(id, recordOf(event, digest, { headers, body, receivedAt }));
    if (recorded === 'missing') return { status: 'unknown' };
    const released = {
      status: recorded === 'new' ? 'accepted' : 'duplicate',
      traceId: event.traceId,
    } as const;
    telemetry.tell('quarantine_released', released);
    if (recorded === 'new') onReleased(event, receivedAt);
    return released;
  }
}
