/** The part of the store that keeps the audit list: what people have done to the inbox, and its progress. */
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
  'unpin',
  'look',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** An action that begins. */
export interface AuditRequest {
  readonly action: AuditAction;
  readonly by: string | undefined;
  readonly reason: string | undefined;
  /** The object of the action: a filter as JSON, a name, an id. Never the text that an erasure searches for. */
  readonly what: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether to remove some of the entries that were kept long enough. @default false */
  readonly mayRemove?: boolean;
  /** The last event, for an action that goes through many events. */
  readonly upTo?: Sequence;
  /** The event after which such an action begins: none before it matches. @default 0 */
  readonly begunAfter?: Sequence;
}

/** How much an action has changed. */
export interface AuditCounts {
  /** Events, or deliveries in quarantine. */
  readonly events: number;
  readonly runs: number;
}

/** The progress of a replay or a dismissal, which goes through many events in order of arrival. */
export interface Progress {
  /** The event after which it has begun. */
  readonly begunAfter: Sequence;
  /** The last event to go through. */
  readonly upTo: Sequence;
  /** The last event gone through so far. */
  readonly reached: Sequence;
  /** Whether a person has stopped it. */
  readonly isStopped: boolean;
  /** How many runs of each handler it has changed. */
  readonly handlers: Readonly<Record<string, number>>;
}

/**
 * One step of a replay or dismissal. It is written only while the action runs and stands at `from`: two processes may
 * both try to continue it.
 */
export interface ProgressStep {
  /** The id of the audit entry. */
  readonly id: number;
  readonly from: Sequence;
  readonly reached: Sequence;
}

/** An entry of the audit list. */
export interface AuditRow
  extends Omit<AuditRequest, 'now' | 'mayRemove' | 'upTo' | 'begunAfter'>, AuditCounts {
  readonly id: number;
  readonly requestedAt: number;
  /**
   * Undefined while the action runs. For an action without progress also if it failed or its process died: it may then
   * have changed more than its counts say.
   */
  readonly finishedAt: number | undefined;
  /** Undefined for an action that is done in one step. */
  readonly progress: Progress | undefined;
}

/** Selects a part of the list. */
export interface AuditFilter {
  /** Only actions requested at this time or later, in milliseconds since 1970. */
  readonly since?: number | undefined;
  /** Only actions requested before this time. */
  readonly until?: number | undefined;
  readonly limit: number;
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined;
}

/** A page of the list, latest first, and where the next page begins. */
export interface AuditPage {
  readonly entries: readonly AuditRow[];
  readonly cursor: string | undefined;
}

/** How long entries are kept, in milliseconds: a year. */
export const auditKept = 366 * 86_400_000;
/** How many older entries a new one removes at most. */
export const auditRemoved = 10;

/** An entry is written before the action that it describes, so that no action goes unrecorded. */
export interface AuditStore {
  /** Resolves to the entry's id. */
  begin(request: AuditRequest): Promise<number>;
  /** Marks the action finished, unless it was stopped, and adds to its counts. */
  end(id: number, now: number, counts: AuditCounts): Promise<void>;
  get(id: number): Promise<AuditRow | undefined>;
  /** The actions with progress that still run, latest first. */
  running(): Promise<readonly AuditRow[]>;
  /** Writes a step that changes no run. Resolves to whether it was written. */
  advance(step: ProgressStep): Promise<boolean>;
  /** Stops a running action; what it has changed stays changed. Resolves to whether it was running. */
  stop(id: number, now: number): Promise<boolean>;
  list(filter: AuditFilter): Promise<AuditPage>;
}
