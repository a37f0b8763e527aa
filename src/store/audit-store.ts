/** The part of the store that keeps what people have done to the inbox, and how far it has come. */
import type { Sequence } from './event-record.ts';

/** What was done. `look`: a body was shown. */
export const auditActions = [
  'replay',
  'dismiss',
  'stop',
  'release',
  'discard',
  'reverify',
  'erase',
  'pause',
  'resume',
  'mute',
  'unmute',
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
  /** For what goes through many events: the last of them. */
  readonly upTo?: Sequence;
}

/** How much was changed. */
export interface AuditCounts {
  /** Events, or deliveries in quarantine. */
  readonly events: number;
  readonly runs: number;
}

/** How far a replay or a dismissal has come, which goes through many events in order of arrival. */
export interface Progress {
  /** It goes through the events up to this one. */
  readonly upTo: Sequence;
  /** It has gone through the events up to this one. */
  readonly reached: Sequence;
  /** Whether a person has stopped it. */
  readonly isStopped: boolean;
  /** How many runs of each handler it has changed. */
  readonly handlers: Readonly<Record<string, number>>;
}

/** One step of it. It is written only if it goes on and has not come further: two processes may have set out for it. */
export interface ProgressStep {
  /** Of its entry. */
  readonly id: number;
  readonly from: Sequence;
  readonly reached: Sequence;
}

/** What was done, as it is kept. */
export interface AuditRow extends Omit<AuditRequest, 'now' | 'upTo'>, AuditCounts {
  readonly id: number;
  readonly requestedAt: number;
  /**
   * Undefined while it goes on. Without progress, also if it failed or its process died: more may have been changed then than
   * its counts say.
   */
  readonly finishedAt: number | undefined;
  /** Undefined for what is done at once. */
  readonly progress: Progress | undefined;
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
  /** It has been done, unless it was stopped. Counts are added to those that are there. */
  end(id: number, now: number, counts: AuditCounts): Promise<void>;
  get(id: number): Promise<AuditRow | undefined>;
  /** What has progress and goes on, the latest first. */
  running(): Promise<readonly AuditRow[]>;
  /** Goes on without a change. Resolves to whether the step was written. */
  advance(step: ProgressStep): Promise<boolean>;
  /** Ends what goes on. What it has changed stays changed. Resolves to whether it went on. */
  stop(id: number, now: number): Promise<boolean>;
  /** Latest first. */
  list(page: AuditPage): Promise<readonly AuditRow[]>;
}
