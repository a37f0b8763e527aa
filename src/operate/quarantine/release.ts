import { Refusal } from '../../errors/refusals.ts';
import type { BodyDecoder } from '../../events/decoding.ts';
import { readBytes } from '../../events/read-event.ts';
import type { CallEvent, Headers, Scheme } from '../../events/model.ts';
import { signsId, withoutUnsignedId } from '../../signature/content.ts';
import type { SchemeFinding } from '../../signature/find-scheme.ts';
import { recordOf } from '../../store/event-record.ts';
import type { KeptDelivery, QuarantineStore } from '../../store/quarantine-store.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';

/** The result of a release: a new event, or a duplicate of a stored one. */
export interface Released {
  readonly status: 'accepted' | 'duplicate';
  readonly traceId: string;
}

/** The scheme in which a delivery has verified. */
export interface Verified {
  readonly scheme: Scheme | undefined;
}

/** The signature checks of the intake, for refused deliveries. */
export interface Authenticator {
  /** Checks a delivery with the current secrets and schemes, as of its arrival. Rejects with `not_authentic`. */
  authenticateAgain(body: Uint8Array, headers: Headers, receivedAt: number): Promise<Verified>;
  /** Finds the known scheme in which it verifies, accepted or not. Resolves to undefined if no secrets are known. */
  findScheme(body: Uint8Array, headers: Headers, receivedAt: number): Promise<SchemeFinding | undefined>;
  /** Checks it with the known schemes that aren't accepted. */
  authenticateInOtherScheme(body: Uint8Array, headers: Headers, receivedAt: number): Verified | undefined;
}

/** The schemes that the intake accepts. */
interface AcceptedSchemes {
  /** The pinned scheme; undefined if no event has pinned one, or if the option `signature` sets one. */
  readonly pinned: string | undefined;
  /** The scheme that the option `signature` sets. */
  readonly given: string | undefined;
  /** Pins the scheme of a new event that is on disk, unless a scheme is pinned already. */
  pin(scheme: Scheme | undefined): Promise<void> | undefined;
  /** Pins the scheme of an event in place of the pinned one. */
  pinInstead(scheme: Scheme | undefined): Promise<void>;
}

export interface ReleaseParts {
  readonly store: QuarantineStore;
  readonly decoder: BodyDecoder;
  readonly telemetry: Telemetry;
  readonly authenticator: Authenticator;
  readonly schemes: AcceptedSchemes;
  /** Called when a released event is on disk. */
  readonly onReleased: (event: CallEvent, receivedAt: number) => void;
}

/** The result of an attempt to release one delivery. */
export type Attempt =
  | Released
  | { readonly status: 'unknown' }
  /** Only `kept` of its `bytes` are stored. */
  | { readonly status: 'cut'; readonly bytes: number; readonly kept: number }
  | { readonly status: 'not_authentic'; readonly reason: string; readonly fix: string | undefined }
  | { readonly status: 'unreadable'; readonly reason: string };

/** Releases deliveries from quarantine through the same stages as arriving deliveries. */
export class Release {
  readonly #parts: ReleaseParts;

  constructor(parts: ReleaseParts) {
    this.#parts = parts;
  }

  /** Tries to release one delivery. One that can't be released stays in quarantine. */
  async attempt(id: number): Promise<Attempt> {
    const found = await this.#verify(id);
    if ('status' in found) return found;
    const { kept, verified } = found;
    const attempt = await this.record(kept, verified);
    if (verified && attempt.status === 'accepted') await this.#parts.schemes.pin(verified.scheme);
    return attempt;
  }

  /** The status that an attempt would have, of a copy too `accepted`. Changes nothing. */
  async preview(id: number): Promise<Attempt['status']> {
    const found = await this.#verify(id);
    if ('status' in found) return found.status;
    const reading = await readKept(this.#parts.decoder, found.kept, found.verified?.scheme);
    return reading.ok ? 'accepted' : 'unreadable';
  }

  /** `verified` is undefined for a delivery that was authentic but unreadable. */
  async #verify(id: number): Promise<Attempt | { kept: KeptDelivery; verified: Verified | undefined }> {
    const { store, authenticator } = this.#parts;
    const kept = await store.get(id);
    if (!kept) return { status: 'unknown' };
    if (kept.isCut) return { status: 'cut', bytes: kept.bytes, kept: kept.body.byteLength };
    const { kind, body, headers, receivedAt } = kept;
    if (kind === 'unreadable') return { kept, verified: undefined };
    try {
      return { kept, verified: await authenticator.authenticateAgain(body, headers, receivedAt) };
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      return { status: 'not_authentic', reason: problem.reason, fix: problem.fix };
    }
  }

  /** Decodes and records a delivery. `verified` is undefined for one that was authentic but unreadable. */
  async record(kept: KeptDelivery, verified: Verified | undefined): Promise<Attempt> {
    const { store, decoder, telemetry, onReleased } = this.#parts;
    const { id, kind, receivedAt } = kept;
    const reading = await readKept(decoder, kept, verified?.scheme);
    if (!reading.ok) {
      // It is authentic now, so the bounds for unauthenticated deliveries no longer apply.
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

/** Reads a delivery in quarantine as an event and its record. `scheme` is the one in which it verified. */
export async function readKept(
  decoder: BodyDecoder,
  { headers: kept, body, receivedAt }: KeptDelivery,
  scheme: Scheme | undefined,
) {
  const isIdSigned = signsId(scheme);
  const headers = isIdSigned ? withoutUnsignedId(kept, scheme) : kept;
  const reading = await readBytes(decoder, { body, headers, receivedAt });
  if (!reading.ok) return reading;
  const { ok, event } = reading;
  return { ok, event, record: recordOf(event, { headers, body, receivedAt }, isIdSigned) };
}
