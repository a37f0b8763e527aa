/** The part of the store that lets go of what it has kept long enough, and of what a person asks to have erased. */
import type { Sequence } from './run-key.ts';

/** What has been kept long enough. All times in milliseconds since 1970. */
export interface RetentionLimits {
  /** Events go that arrived before then and whose runs are all done. */
  readonly doneBefore: number;
  /** Events go whose dead letters were all given up before then. */
  readonly deadBefore: number;
  /** Deliveries in quarantine go that arrived before then. */
  readonly quarantineBefore: number;
  /** Trace ids of events that are gone are forgotten when their time is over by then. */
  readonly now: number;
  /** Until when the trace ids of the events that go now are remembered. */
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

/** Where something of a person can be: events, those of them that belong to no call, or what is kept beside them. */
export type KeptIn = 'events' | 'events_without_call' | 'quarantine' | 'replays';

/** Something that is kept, as far as it can name a person. */
export interface Kept {
  /** An event's sequence, or the id of anything else. */
  readonly key: number;
  readonly callId: string | undefined;
  readonly contents: readonly (string | Uint8Array)[];
}

/** Some of what is kept, and after which key the next look begins, or undefined at the end. */
export interface Look {
  readonly found: readonly Kept[];
  readonly next: number | undefined;
}

/** How much one step of erasing has removed. */
export interface ErasureStep {
  readonly events: number;
  /** Stored runs, dead letters included. */
  readonly runs: number;
  /** Whether another step is needed. */
  readonly hasMore: boolean;
}

/** Whether what was erased is also gone from the files. */
export interface Scrubbed {
  /** The write-ahead log holds nothing any more. */
  readonly checkpointed: boolean;
  /** No unused part of a page holds a rest of what once was there. */
  readonly compacted: boolean;
}

/** Every verb takes a bounded time, so that deliveries are recorded in between. */
export interface RetentionStore {
  /** Removes some of what has been kept long enough; identities stay until `traceIdsUntil`. */
  clean(limits: RetentionLimits, after: string | undefined): Promise<CleaningStep>;

  /** Looks at what is kept, in order of the keys, after `after`. */
  look(where: KeptIn, after: number): Promise<Look>;
  /** Removes events of a call with all that belongs to them; with the last of them goes the call's own record. */
  eraseCall(callId: string, traceIdsUntil: number): Promise<ErasureStep>;
  /** Removes events, as many as `look` gives at once. */
  eraseEvents(sequences: readonly Sequence[], traceIdsUntil: number): Promise<ErasureStep>;
  /** Removes deliveries from quarantine. Resolves to how many were there. */
  eraseQuarantined(ids: readonly number[]): Promise<number>;
  /** Removes from the records of replays who asked for them, why, and for which events. */
  eraseReplays(ids: readonly number[]): Promise<void>;

  /** Whether something was erased since the files were last scrubbed, in whichever process. */
  needsScrubbing(): Promise<boolean>;
  /** The size of the database, in bytes: scrubbing whole takes a time that grows with it. */
  size(): Promise<number>;
  /** Tries once to remove from the files what was erased; what can't be done now is left as it is. */
  scrub(options: { readonly compact: boolean }): Promise<Scrubbed>;
}
