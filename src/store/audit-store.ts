/** The part of the store that keeps what people have done to the inbox. */

/** What was done. `look`: a body was shown. */
export const auditActions = [
  'replay',
  'dismiss',
  'release',
  'discard',
  'reverify',
  'erase',
  'pause',
  'resume',
  'look',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** Who wants to do what to what, and why. */
export interface AuditRequest {
  readonly action: AuditAction;
  readonly by: string | undefined;
  readonly reason: string | undefined;
  /** What it is done to: a filter as JSON, a name, an id. Never what an erasure looks for. */
  readonly what: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** How much was changed. */
export interface AuditCounts {
  /** Events, or deliveries in quarantine. */
  readonly events: number;
  readonly runs: number;
}

/** What was done, as it is kept. */
export interface AuditRow extends Omit<AuditRequest, 'now'>, AuditCounts {
  readonly id: number;
  readonly requestedAt: number;
  /** Undefined while it goes on, and if it failed or its process died: more may have been changed then than its counts say. */
  readonly finishedAt: number | undefined;
}

/** Which part of the list. */
export interface AuditPage {
  /** Asked for then or later, in milliseconds since 1970. */
  readonly since: number | undefined;
  /** Asked for before then. */
  readonly until: number | undefined;
  readonly limit: number;
  /** Only ids below it. */
  readonly before: number | undefined;
}

/** For how long entries are kept, in milliseconds: a year. With each that is written, a few of those are removed that are older. */
export const auditKept = 366 * 86_400_000;
/** How many. */
export const auditRemoved = 10;

/** Entries are written before what they tell of, so that nothing is done that nobody is told of. */
export interface AuditStore {
  /** Resolves to the entry's id. */
  begin(request: AuditRequest): Promise<number>;
  /** It has been done. Counts are added to those that are there. */
  end(id: number, now: number, counts: AuditCounts): Promise<void>;
  /** Latest first. */
  list(page: AuditPage): Promise<readonly AuditRow[]>;
}
