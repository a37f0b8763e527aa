/** The part of the store that keeps deliveries in quarantine, which no handler sees. */
import type { Headers } from '../events/model.ts';
import type { EventRecord } from './event-record.ts';

/** Why a delivery is in quarantine: it could not be authenticated, or it is authentic but can't be read. */
export type QuarantineKind = 'not_authentic' | 'unreadable';

/** A delivery to keep. */
export interface QuarantineRecord {
  readonly kind: QuarantineKind;
  /** Why it is in quarantine, as a code that the log uses. */
  readonly reason: string;
  /** The SHA-256 of the body, in hex. */
  readonly digest: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The headers that matter; never credentials. */
  readonly headers: Headers;
  /** The raw bytes, as they came. */
  readonly body: Uint8Array;
  /** The size of the whole body, if `body` is only its head. */
  readonly cutFrom?: number | undefined;
  /** How many deliveries since the last kept one came too fast to be kept: the store counts them as dropped. */
  readonly skipped: number;
}

/** A delivery in quarantine, without its headers and body. */
export interface QuarantineEntry extends Omit<QuarantineRecord, 'headers' | 'body' | 'cutFrom' | 'skipped'> {
  /** Rises in the order of arrival. */
  readonly id: number;
  /** The trace id in the header, as the sender wrote it; not verified. */
  readonly traceId: string | undefined;
  /** The size of the body as it came. */
  readonly bytes: number;
  /** Whether only the head of the body is kept, so that the signature can't be verified again. */
  readonly isCut: boolean;
}

/** A delivery in quarantine, with its headers, and its body or the head of it. */
export interface KeptDelivery extends QuarantineEntry, Pick<QuarantineRecord, 'headers' | 'body'> {}

/** The trace id in the header, which is stored for lists; if there are several, all of them as JSON. */
export function claimedTraceId({ 'x-webhook-traceid': traceId }: Headers): string | undefined {
  return typeof traceId === 'object' ? JSON.stringify(traceId) : traceId;
}

/** Selects deliveries. Times are times of arrival, in milliseconds since 1970; `until` is exclusive. */
export interface QuarantineFilter {
  readonly kind?: QuarantineKind | undefined;
  readonly reason?: string | undefined;
  readonly traceId?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined;
}

/** A page of deliveries, latest first, and where the next page begins. */
export interface QuarantinePage {
  readonly deliveries: readonly QuarantineEntry[];
  readonly cursor: string | undefined;
}

/** A kept delivery, and how many were dropped to make room for it. */
export interface Quarantined {
  /** The id of the delivery, or of the copy that was here already. */
  readonly id: number;
  readonly dropped: number;
}

/** Keeps deliveries until they are released, discarded, dropped to make room, or kept long enough. */
export interface QuarantineStore {
  /**
   * Keeps a delivery. Of an unreadable one, only one copy is kept. Unauthenticated ones are bounded by count and bytes:
   * the oldest are dropped.
   */
  keep(record: QuarantineRecord): Promise<Quarantined>;
  list(filter: QuarantineFilter): Promise<QuarantinePage>;
  get(id: number): Promise<KeptDelivery | undefined>;
  /** The ids of all unauthenticated deliveries, oldest first; their count is bounded. */
  unauthenticated(): Promise<readonly number[]>;
  /** Records the delivery as an event, and removes it from quarantine, in one transaction. */
  release(id: number, record: EventRecord): Promise<'new' | 'duplicate' | 'missing'>;
  /** Turns an unauthenticated delivery into an unreadable one, because it proved to be authentic. */
  markUnreadable(id: number, reason: string): Promise<void>;
  /** Removes a delivery. Resolves to whether it was there. */
  discard(id: number): Promise<boolean>;
}
