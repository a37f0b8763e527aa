/** The part of the store that keeps deliveries that no handler sees. */
import type { Headers } from '../events/model.ts';
import type { EventRecord } from './event-record.ts';

/**
 * Why a delivery is in quarantine: its sender is not known to be the platform, or it is the platform's and can't be
 * read.
 */
export type QuarantineKind = 'not_authentic' | 'unreadable';

/** What is kept of a delivery that no handler will see. */
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
  /** The size of the whole body, where `body` is only the head of it. */
  readonly cutFrom?: number | undefined;
  /**
   * How many deliveries were not kept since the last one that was, because they came too fast: they are counted with
   * this one.
   */
  readonly skipped: number;
}

/** A delivery in quarantine, without its headers and body. */
export interface QuarantineEntry extends Omit<QuarantineRecord, 'headers' | 'body' | 'cutFrom' | 'skipped'> {
  /** Rises in the order of arrival. */
  readonly id: number;
  /** The trace id in the header, as its sender wrote it: nobody has verified it. */
  readonly traceId: string | undefined;
  /** The size of the body as it came. */
  readonly bytes: number;
  /** Whether only the head of the body is kept. It can't be verified any more. */
  readonly isCut: boolean;
}

/** A delivery in quarantine, with its headers, and its body or the head of it. */
export interface KeptDelivery extends QuarantineEntry, Pick<QuarantineRecord, 'headers' | 'body'> {}

/** Selects deliveries. Times of arrival, in milliseconds since 1970; `until` is exclusive. */
export interface QuarantineFilter {
  readonly kind?: QuarantineKind | undefined;
  readonly reason?: string | undefined;
  readonly traceId?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  /** The cursor of the previous page: digits. */
  readonly cursor?: string | undefined;
}

/** A page of deliveries, latest first, and where the next page begins. */
export interface QuarantinePage {
  readonly deliveries: readonly QuarantineEntry[];
  readonly cursor: string | undefined;
}

/** A delivery that was kept, and how many were dropped to make room for it. */
export interface Quarantined {
  /** Of the delivery, or of the copy that was here already. */
  readonly id: number;
  readonly dropped: number;
}

/** Keeps deliveries until they are released, discarded, crowded out or kept long enough. */
export interface QuarantineStore {
  /**
   * Keeps a delivery. Unreadable ones are kept like events, one for all copies. Those that are not authentic are
   * bounded by count and bytes: the oldest are dropped.
   */
  keep(record: QuarantineRecord): Promise<Quarantined>;
  list(filter: QuarantineFilter): Promise<QuarantinePage>;
  get(id: number): Promise<KeptDelivery | undefined>;
  /** The ids of the deliveries that are not authentic, oldest first: no more than the bound on their count. */
  unauthenticated(): Promise<readonly number[]>;
  /** Records the delivery as the event that it turned out to be, and removes it from quarantine, in one transaction. */
  release(id: number, record: EventRecord): Promise<'new' | 'duplicate' | 'missing'>;
  /** Keeps a delivery that was not authentic as unreadable from now on, because it turned out to be the platform's. */
  markUnreadable(id: number, reason: string): Promise<void>;
  /** Removes a delivery. Resolves to whether it was there. */
  discard(id: number): Promise<boolean>;
}
