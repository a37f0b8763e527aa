import { Refusal } from '../errors/refusals.ts';
import type { BodyDecoder } from '../events/decoding.ts';
import { readBytes } from '../events/read-bytes.ts';
import type { CallEvent, Headers, Scheme } from '../events/model.ts';
import { signsId, withoutUnsignedId } from '../signature/content.ts';
import { recordOf } from '../store/event-record.ts';
import type { KeptDelivery, QuarantineStore } from '../store/quarantine-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** What became of a released delivery: a new event, or a copy of one that is stored already. */
export interface Released {
  readonly status: 'accepted' | 'duplicate';
  readonly traceId: string;
}

/** A delivery that has verified, and in which scheme. */
export interface Verified {
  readonly scheme: Scheme | undefined;
}

/** The signature checks of the intake, for deliveries that were refused. */
export interface Authentication {
  /** The scheme that an event has pinned; undefined if none is, or if one was set as an option. */
  readonly pinned: string | undefined;
  /**
   * Checks a delivery against the present secrets and schemes, as of its arrival.
   *
   * Rejects with the Refusal `not_authentic`.
   */
  authenticateAgain(body: Uint8Array, headers: Headers, receivedAt: number): Promise<Verified>;
  /** Checks it against the known schemes that don't count. */
  authenticateOtherwise(body: Uint8Array, headers: Headers, receivedAt: number): Verified | undefined;
  /** Pins the scheme of a new event that is on disk, unless one is pinned. */
  pin(verified: Verified): Promise<void>;
  /** Pins the scheme of an event in place of the one that is pinned. */
  pinInstead(verified: Verified): Promise<void>;
}

export interface ReleaseParts {
  readonly store: QuarantineStore;
  readonly decoder: BodyDecoder;
  readonly telemetry: Telemetry;
  readonly authentication: Authentication;
  /** Called when a released event is on disk. */
  readonly onReleased: (event: CallEvent, receivedAt: number) => void;
}

/** How the try to release one delivery ended. */
export type Attempt =
  | Released
  | { readonly status: 'unknown' }
  /** Of its `bytes`, only `kept` are here. */
  | { readonly status: 'cut'; readonly bytes: number; readonly kept: number }
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
    const { store, authentication } = this.#parts;
    const kept = await store.get(id);
    if (!kept) return { status: 'unknown' };
    if (kept.isCut) return { status: 'cut', bytes: kept.bytes, kept: kept.body.byteLength };
    const { kind, body, headers, receivedAt } = kept;
    try {
      if (kind === 'unreadable') return await this.record(kept, undefined);
      const verified = await authentication.authenticateAgain(body, headers, receivedAt);
      const attempt = await this.record(kept, verified);
      if (attempt.status === 'accepted') await authentication.pin(verified);
      return attempt;
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      return { status: 'not_authentic', reason: problem.reason, fix: problem.fix };
    }
  }

  /**
   * The later stages of a delivery that arrives: decode, record. `verified` is undefined for one that was authentic
   * already, and not readable.
   */
  async record(kept: KeptDelivery, verified: Verified | undefined): Promise<Attempt> {
    const { store, decoder, telemetry, onReleased } = this.#parts;
    const { id, kind, receivedAt } = kept;
    const reading = await readKept(decoder, kept, verified?.scheme);
    if (!reading.ok) {
      // The delivery is the platform's, so the bounds for unauthenticated deliveries no longer apply to it.
      if (kind === 'not_authentic') await store.markUnreadable(id, reading.reason);
      return { status: 'unreadable', reason: reading.reason };
    }
    const { event, record } = reading;
    const recorded = await store.release(id, record);
    if (recorded === 'missing') return { status: 'unknown' };
    const released = {
      status: recorded === 'new' ? 'accepted' : 'duplicate',
      traceId: event.traceId,
    } as const;
    telemetry.report('quarantine_released', released);
    if (recorded === 'new') onReleased(event, receivedAt);
    return released;
  }
}

/** A delivery in quarantine as an event and its record; `scheme` is the one in which it verifies. */
export async function readKept(
  decoder: BodyDecoder,
  { headers: kept, body, receivedAt }: KeptDelivery,
  scheme: Scheme | undefined,
) {
  const headers = withoutUnsignedId(kept, scheme);
  const reading = await readBytes(decoder, { body, headers, receivedAt });
  if (!reading.ok) return reading;
  const { ok, event, digest } = reading;
  return { ok, event, record: recordOf(event, digest, { headers, body, receivedAt }, signsId(scheme)) };
}
