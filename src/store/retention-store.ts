/** The part of the store that removes what it has kept long enough, and what a person asks to have erased. */
import type { Sequence } from './event-record.ts';

/** Which of the things in the store have been kept long enough. All times in milliseconds since 1970. */
export interface RetentionLimits {
  /** Events without a dead letter are removed if they arrived, and all their runs were done, before then. */
  readonly doneBefore: number;
  /** Events with a dead letter are removed if all their runs were settled before then. */
  readonly deadBefore: number;
  /** Deliveries in quarantine are removed that arrived before then. */
  readonly quarantineBefore: number;
  /** Trace ids of removed events are forgotten if the time until which they were remembered is over by then. */
  readonly now: number;
  /** Until when the trace ids of the events that are removed now are remembered. */
  readonly traceIdsUntil: number;
}

/** How much one step of cleaning has removed. */
export interface CleaningStep {
  readonly events: number;
  readonly runs: number;
  readonly quarantined: number;
  readonly traceIds: number;
  /** Where the next step begins, or undefined when there is nothing left to look at. */
  readonly next: string | undefined;
}

/**
 * Where a person's data can be: in events, in those events that belong to no call, or in what is kept beside the
 * events.
 */
export type KeptIn = 'events' | 'events_without_call' | 'quarantine' | 'audit' | 'failure_groups';

/** The parts of something kept that can name a person. */
export interface Kept {
  /** An event's sequence, or the id of anything else. */
  readonly key: number;
  readonly callId: string | undefined;
  /** An event's. */
  readonly traceId: string | undefined;
  readonly contents: readonly (string | Uint8Array)[];
}

/** Some of what is kept, and the key after which the next look begins, or undefined at the end. */
export interface Look {
  readonly found: readonly Kept[];
  readonly next: number | undefined;
}

/** How much one step of erasing has removed. */
export interface ErasureStep {
  readonly events: number;
  /** Stored runs, dead letters included. */
  readonly runs: number;
  /** Of the events that were removed. */
  readonly traceIds: readonly string[];
  /** Whether another step is needed. */
  readonly hasMore: boolean;
}

/** How many events there are, and how many stored runs they have. */
export interface EventCount {
  readonly events: number;
  readonly runs: number;
}

/** Whether what was erased is also gone from the files. */
export interface Scrubbed {
  /** Whether the write-ahead log holds nothing any more. */
  readonly checkpointed: boolean;
  /** Whether no unused part of a page holds remains of what was once there. */
  readonly compacted: boolean;
}

/** How a database is compacted. */
export interface CompactOptions {
  /** Whether all of it is written anew, while deliveries wait. Default: if that is a matter of half a second. */
  readonly rewrite?: boolean | undefined;
  /** Whether nothing is done, and nothing waited for, unless something was erased that an earlier try has left. */
  readonly onlyIfNeeded?: boolean;
}

/** Every method but `compact` takes a bounded time, so that deliveries are recorded in between. */
export interface RetentionStore {
  /**
   * Removes some of what has been kept long enough. Identities of removed events stay until `traceIdsUntil`. What a group of
   * failures says goes with the last event that has a run of it that is not done; so it does with what is erased.
   */
  clean(limits: RetentionLimits, after: string | undefined): Promise<CleaningStep>;

  /** Looks at what is kept, in order of the keys, after `after`. */
  look(where: KeptIn, after: number): Promise<Look>;
  /** How many events a call has. It takes the longer, the more the call has. */
  countCall(callId: string): Promise<EventCount>;
  /** How many of these events there are. */
  countEvents(sequences: readonly Sequence[]): Promise<EventCount>;
  /**
   * Removes events of a call with all that belongs to them. With the last event, what the call's joins remember is
   * removed. Until `traceIdsUntil`, no event of the call is recorded that is reconciled. The event `last` is removed in the
   * last step: by it, the call is found again if the steps end before that.
   */
  eraseCall(callId: string, traceIdsUntil: number, last?: Sequence): Promise<ErasureStep>;
  /** Removes events: at most as many as one `look` finds. */
  eraseEvents(sequences: readonly Sequence[], traceIdsUntil: number): Promise<ErasureStep>;
  /** Removes deliveries from quarantine. Resolves to how many were there. */
  eraseQuarantined(ids: readonly number[]): Promise<number>;
  /** Removes what groups of failures say. */
  eraseFailureGroups(ids: readonly number[]): Promise<void>;
  /** Removes from entries of the audit list who did it, why, and to what. */
  eraseAudit(ids: readonly number[]): Promise<void>;

  /**
   * Removes from the files what was erased from the tables. Waits for seconds for others who use the files; what can't be
   * removed now stays. Without this method, an erasure says that nothing was removed from them.
   */
  compact?(options: CompactOptions): Promise<Scrubbed>;
}
