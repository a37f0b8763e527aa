/** The part of the store that removes what has been kept long enough, and erases what a person asks for. */
import type { Sequence } from './event-record.ts';

/** What has been kept long enough. All times in milliseconds since 1970. */
export interface RetentionLimits {
  /** Removes events without a dead letter that arrived, and whose runs were all done, before this time. */
  readonly doneBefore: number;
  /** Removes events with a dead letter whose runs were all settled before this time. */
  readonly deadBefore: number;
  /** Removes deliveries in quarantine that arrived before this time. */
  readonly quarantineBefore: number;
  /** Forgets the trace ids of removed events that were to be remembered until this time at the latest. */
  readonly now: number;
  /** Until when to remember the trace ids of events that are removed now. */
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

/** Where a person's data can be: in events, in events without a call only, or in what is kept beside the events. */
export type KeptIn = 'events' | 'events_without_call' | 'quarantine' | 'audit' | 'failure_groups';

/** The contents of something kept that can name a person. */
export interface Kept {
  /** The sequence of an event, or the id of anything else: by it, it is erased. */
  readonly key: number;
  readonly callId: string | undefined;
  /** Undefined for anything but an event. */
  readonly traceId: string | undefined;
  readonly contents: readonly (string | Uint8Array)[];
}

/** What one look found, and where the next look begins, or undefined at the end. */
export interface Look {
  readonly found: readonly Kept[];
  readonly next: string | undefined;
}

/** How much one step of erasing has removed. */
export interface ErasureStep {
  readonly events: number;
  /** Stored runs, dead letters included. */
  readonly runs: number;
  /** The trace ids of the removed events. */
  readonly traceIds: readonly string[];
  /** Whether another step is needed. */
  readonly hasMore: boolean;
}

/** The number of events, and of their stored runs. */
export interface EventCount {
  readonly events: number;
  readonly runs: number;
}

/** Whether erased data is gone from the files, too. */
export interface Scrubbed {
  /** Whether the WAL is empty. */
  readonly checkpointed: boolean;
  /** Whether the unused parts of pages hold no remains of removed data. */
  readonly compacted: boolean;
}

export interface CompactOptions {
  /** Rewrite the whole database, while deliveries wait. Default: if that takes about half a second at most. */
  readonly rewrite?: boolean | undefined;
  /** Do nothing if no erased data is left in the files; otherwise try once, without waiting. */
  readonly onlyIfNeeded?: boolean;
}

/** Every method but `compact` takes a bounded time, so that deliveries can be recorded in between. */
export interface RetentionStore {
  /**
   * Removes some of what has been kept long enough. Identities of removed events stay until `traceIdsUntil`. Call
   * `clearUnusedGroups` at the end.
   */
  clean(limits: RetentionLimits, after: string | undefined): Promise<CleaningStep>;

  /** Looks at what is kept, a bounded part of it. `after`: what the previous look says, or undefined for the first. */
  look(where: KeptIn, after: string | undefined): Promise<Look>;
  /** Counts the events of a call, which takes longer the more it has. */
  countCall(callId: string): Promise<EventCount>;
  /** Counts those of the given events that exist. */
  countEvents(sequences: readonly Sequence[]): Promise<EventCount>;
  /**
   * Removes events of a call with all that belongs to them, and with the last event what the call's joins remember.
   * Until `traceIdsUntil`, reconciled events of the call are duplicates. The event `last` is removed in the last step,
   * so that the call can still be found if the steps are cut short.
   */
  eraseCall(callId: string, traceIdsUntil: number, last?: Sequence): Promise<ErasureStep>;
  /** Removes events: at most as many as one `look` finds. */
  eraseEvents(sequences: readonly Sequence[], traceIdsUntil: number): Promise<ErasureStep>;
  /** Removes deliveries from quarantine. Resolves to how many were there. */
  eraseQuarantined(ids: readonly number[]): Promise<number>;
  /**
   * Removes the messages, which may quote removed events, of groups of failures that have no unfinished run left. Looks
   * at all groups: call it once all events are removed.
   */
  clearUnusedGroups(): Promise<void>;
  /** Removes the messages of groups of failures. */
  eraseFailureGroups(ids: readonly number[]): Promise<void>;
  /** Removes from audit entries who did it, why, and to what. */
  eraseAudit(ids: readonly number[]): Promise<void>;

  /**
   * Removes from the files what was erased from the tables. Waits for seconds for others who use the files; what can't
   * be removed now stays. Without this method, an erasure says that nothing was removed from them.
   */
  compact?(options: CompactOptions): Promise<Scrubbed>;
}
